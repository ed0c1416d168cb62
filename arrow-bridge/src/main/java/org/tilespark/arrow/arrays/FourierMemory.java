package org.tilespark.arrow.arrays;

import org.tilespark.arrow.arrays.FourierChain.State;

/**
 * What one array of a {@link FourierChain} needs, known before there is a device: for planners that
 * choose between a whole volume, slabs and pencils. A pipeline that has two arrays under way needs
 * it twice.
 *
 * @param arrayBytes device memory of the array's two buffers, of which one serves as the work area
 *     of transforms in place
 * @param workBytes device memory of a work area beside them, for transforms that are not in place.
 *     cuFFT tells its true work areas only on a device; here they are as large as the complex array
 *     of each transform, and a pipeline cuts larger ones down to that where it can
 * @param stagingBytes device memory that parts pass through, and the vectors of steps
 * @param inputBytes host memory of all parts that are put
 * @param outputBytes host memory of the result
 */
public record FourierMemory(
    long arrayBytes, long workBytes, long stagingBytes, long inputBytes, long outputBytes) {
  /** Most bytes of one staging buffer of a device pipeline. */
  static final long STAGING_BYTES = 16 << 20;

  /** Staging buffers of an array. */
  static final int LANES = 2;

  /** What gaps between small parts may take of a staging buffer. */
  private static final long SLACK_BYTES = 64 << 10;

  /** How much smaller than the array work areas are where device memory is scarce. */
  static final long SCARCE_SHARE = 8;

  /** The needs of one array where there is room for the fastest way. */
  public static FourierMemory of(FourierChain chain) {
    return of(chain, 1);
  }

  /**
   * The needs of one array on a device that has no room for {@link #of}: transforms then go in more
   * and smaller parts, with work areas of an eighth of the array.
   */
  public static FourierMemory scarce(FourierChain chain) {
    return of(chain, SCARCE_SHARE);
  }

  private static FourierMemory of(FourierChain chain, long workShare) {
    FourierDevicePlan plan =
        FourierDevicePlan.of(chain, workShare, FourierDevicePlan.Transform::workLimit);
    State output = chain.output();
    return new FourierMemory(
        plan.buffers().get(0) + plan.buffers().get(1),
        plan.buffers().get(2),
        LANES * stagingBytes(chain) + plan.vectorBytes(),
        chain.input().bytes(),
        output.bytes());
  }

  /** Device memory of one array, all of it. */
  public long deviceBytes() {
    return arrayBytes + workBytes + stagingBytes;
  }

  /** Bytes of one staging buffer: a small array needs no large one. */
  static long stagingBytes(FourierChain chain) {
    long bytes = Math.max(chain.input().bytes(), chain.output().bytes());
    return Math.min(STAGING_BYTES, (bytes + SLACK_BYTES) / 256 * 256);
  }
}
