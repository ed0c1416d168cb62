package org.tilespark.kernels.device.driver;

import com.sun.jna.Native;

/**
 * The driver call that queues many copies at once, bound with JNA; separate from {@link LibCuda}
 * since drivers before CUDA 12.8 lack it. There, initialising this class throws {@link
 * UnsatisfiedLinkError}.
 */
public final class LibCudaCopies {
  /** Order of reads: sources are read when the stream reaches the copies, as by other copies. */
  private static final int CU_MEMCPY_SRC_ACCESS_ORDER_STREAM = 1;

  /** Flag that asks for copy engines, which leave the multiprocessors to kernels. */
  private static final int CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1;

  /** A {@code CUmemcpyAttributes}: order, two places with a kind and a number each, and flags. */
  private static final int[] ATTRIBUTES = {
    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 0, 0, 0, 0, CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE
  };

  private static final long[] FIRST = {0};

  static {
    Native.register(LibCudaCopies.class, "libcuda.so.1");
  }

  private LibCudaCopies() {}

  /**
   * Initialises this class, so that a driver without the call shows here.
   *
   * @throws UnsatisfiedLinkError if the driver lacks the call
   */
  public static void load() {}

  /**
   * Queues copies, which may run in any order and at the same time. All addresses are of pinned
   * host memory or of device memory.
   *
   * @param targets first address that each copy writes
   * @param sources first address that each copy reads
   * @param sizes bytes of each copy, none 0
   * @param stream address of the stream's handle
   * @return the driver's code
   */
  public static int queue(long[] targets, long[] sources, long[] sizes, long stream) {
    return cuMemcpyBatchAsync(
        targets,
        sources,
        sizes,
        sizes.length,
        ATTRIBUTES,
        FIRST,
        FIRST.length,
        new long[1],
        stream);
  }

  private static native int cuMemcpyBatchAsync(
      long[] targets,
      long[] sources,
      long[] sizes,
      long count,
      int[] attributes,
      long[] firstOfAttributes,
      long attributeCount,
      long[] failed,
      long stream);
}
