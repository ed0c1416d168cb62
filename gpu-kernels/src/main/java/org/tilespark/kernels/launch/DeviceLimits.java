package org.tilespark.kernels.launch;

/**
 * Limits of a device that planners need; plain numbers, no handle.
 *
 * @param computeMajor major compute capability, 9 for sm_90
 * @param computeMinor minor compute capability
 * @param multiprocessors count of streaming multiprocessors
 * @param maxThreadsPerBlock threads of one thread block
 * @param maxGridX thread blocks along x
 * @param sharedBytesPerBlock shared memory of one thread block without opting in to more
 * @param globalBytes device memory
 */
public record DeviceLimits(
    int computeMajor,
    int computeMinor,
    int multiprocessors,
    int maxThreadsPerBlock,
    int maxGridX,
    int sharedBytesPerBlock,
    long globalBytes) {
  /** Checks that every limit is positive. */
  public DeviceLimits {
    if (computeMajor < 1
        || computeMinor < 0
        || multiprocessors < 1
        || maxThreadsPerBlock < 1
        || maxGridX < 1
        || sharedBytesPerBlock < 1
        || globalBytes < 1) {
      throw new IllegalArgumentException("A device reports a limit that is not positive");
    }
  }

  /** The architecture as nvcc names it, such as {@code sm_90}. */
  public String architecture() {
    return "sm_" + computeMajor + computeMinor;
  }
}
