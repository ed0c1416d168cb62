package org.tilespark.kernels.launch;

/**
 * The shape of one kernel launch along x: every kernel here numbers its work with one 64-bit index
 * and loops if there are more pieces than thread blocks, so y and z stay 1.
 *
 * @param blocks number of thread blocks
 * @param threads number of threads of each thread block
 * @param sharedBytes bytes of dynamic shared memory of each thread block
 */
public record LaunchConfig(int blocks, int threads, int sharedBytes) {
  /** Checks that the numbers make sense on a device. */
  public LaunchConfig {
    if (blocks < 1 || threads < 1 || sharedBytes < 0) {
      throw new IllegalArgumentException(
          ("Launch of %s thread blocks of %s threads with %s bytes of shared memory;"
                  + " expected at least one of each")
              .formatted(blocks, threads, sharedBytes));
    }
  }

  /**
   * A launch with one thread block for each of {@code pieces} pieces of work, or as many thread
   * blocks as the grid allows, each of which then does several pieces.
   *
   * @throws IllegalArgumentException if a thread block exceeds what the device allows
   */
  public static LaunchConfig forPieces(
      long pieces, int threads, int sharedBytes, DeviceLimits limits) {
    if (threads > limits.maxThreadsPerBlock() || sharedBytes > limits.sharedBytesPerBlock()) {
      throw new IllegalArgumentException(
          ("A thread block of %s threads and %s bytes of shared memory exceeds the"
                  + " device's %s threads and %s bytes")
              .formatted(
                  threads, sharedBytes, limits.maxThreadsPerBlock(), limits.sharedBytesPerBlock()));
    }
    return new LaunchConfig((int) Math.min(pieces, limits.maxGridX()), threads, sharedBytes);
  }
}
