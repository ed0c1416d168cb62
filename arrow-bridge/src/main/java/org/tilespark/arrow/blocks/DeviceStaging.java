package org.tilespark.arrow.blocks;

/** Limits of the memory that a {@link DeviceBlockPipeline} uses in addition to its arrays. */
final class DeviceStaging {
  /** Most bytes of one staging buffer of a device pipeline. */
  static final long STAGING_BYTES = 16 << 20;

  /** Count of the staging buffers of an array: while one is copied, the next is filled. */
  static final int LANES = 2;

  /** Bytes of pinned parts that are uploaded together; a smaller array is uploaded as a whole. */
  static final long TURN_BYTES = 128L << 20;

  /**
   * Least bytes for which an upload takes a turn: copying fewer takes no longer than waiting for a
   * turn.
   */
  static final long LEAST_TURN_BYTES = 16L << 20;

  /** Bytes of a staging buffer that are reserved for gaps between small parts. */
  private static final long SLACK_BYTES = 64 << 10;

  /** Divisor of the array's size that limits work areas where device memory is scarce. */
  static final long SCARCE_SHARE = 8;

  private DeviceStaging() {}

  /** Bytes of one staging buffer: smaller for small arrays. */
  static long stagingBytes(BlockProgram program) {
    long inputs = program.inputs().stream().mapToLong(BlockProgram.State::bytes).sum();
    long bytes = Math.max(inputs, program.output().bytes());
    return Math.min(STAGING_BYTES, (bytes + SLACK_BYTES) / 256 * 256);
  }
}
