package org.tilespark.arrow.blocks;

/** Limits of the memory that a {@link DeviceBlockPipeline} uses in addition to its arrays. */
final class DeviceStaging {
  /** Most bytes of one staging buffer of a device pipeline. */
  static final long STAGING_BYTES = 16 << 20;

  /** Count of the staging buffers of an array: while one is copied, the next is filled. */
  static final int LANES = 2;

  /** Pinned parts of this many bytes go up together, or all of an array if it has fewer. */
  static final long TURN_BYTES = 128L << 20;

  /** Fewer bytes go up without a turn: their copy takes no longer than a thread's wait for it. */
  static final long LEAST_TURN_BYTES = 16L << 20;

  /** Bytes of a staging buffer that gaps between small parts may take. */
  private static final long SLACK_BYTES = 64 << 10;

  /** How much smaller than the array work areas are where device memory is scarce. */
  static final long SCARCE_SHARE = 8;

  private DeviceStaging() {}

  /** Bytes of one staging buffer: small arrays need no large one. */
  static long stagingBytes(BlockProgram program) {
    long inputs = program.inputs().stream().mapToLong(BlockProgram.State::bytes).sum();
    long bytes = Math.max(inputs, program.output().bytes());
    return Math.min(STAGING_BYTES, (bytes + SLACK_BYTES) / 256 * 256);
  }
}
