package org.tilespark.kernels.launch;

/**
 * Limits of a device that planners need: plain numbers, and no handle of the device.
 *
 * @param computeMajor major compute capability, 9 for sm_90
 * @param computeMinor minor compute capability
 * @param multiprocessors number of streaming multiprocessors
 * @param maxThreadsPerBlock most threads of one thread block
 * @param maxGridX most thread blocks along x
 * @param sharedBytesPerBlock most bytes of shared memory of a thread block whose kernel does not
 *     opt in to more
 * @param globalBytes bytes of device memory
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
