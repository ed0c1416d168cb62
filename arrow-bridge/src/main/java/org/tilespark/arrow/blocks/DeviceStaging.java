package org.tilespark.arrow.blocks;

/** Limits of the memory that a {@link DeviceBlockPipeline} uses beside its arrays. */
final class DeviceStaging {
  /** Most bytes of one staging buffer of a device pipeline. */
  static final long STAGING_BYTES = 16 << 20;

  /** Staging buffers of an array. */
  static final int LANES = 2;

  /** What gaps between small parts may take of a staging buffer. */
  private static final long SLACK_BYTES = 64 << 10;

  /** How much smaller than the array work areas are where device memory is scarce. */
  static final long SCARCE_SHARE = 8;

  private DeviceStaging() {}

  /** Bytes of one staging buffer: a small array needs no large one. */
  static long stagingBytes(BlockProgram program) {
    long bytes = Math.max(program.input().bytes(), program.output().bytes());
    return Math.min(STAGING_BYTES, (bytes + SLACK_BYTES) / 256 * 256);
  }
}
