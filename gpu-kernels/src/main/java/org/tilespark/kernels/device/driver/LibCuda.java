package org.tilespark.kernels.device.driver;

import com.sun.jna.Native;
import com.sun.jna.ptr.PointerByReference;

/**
 * The driver calls that JCuda 12.6 lacks (attributes of memory pools) or gets wrong (pinned buffers
 * of 2 GiB and more, which it wraps in a {@code ByteBuffer}), bound with JNA. Initialising this
 * class loads {@code libcuda.so.1}; where that fails it throws {@link UnsatisfiedLinkError}.
 */
public final class LibCuda {
  /**
   * Flag of an allocation: the memory is pinned for every context, not only the one that allocates.
   */
  public static final int CU_MEMHOSTALLOC_PORTABLE = 1;

  /** Flag of a registration: memory that the caller allocated is pinned for every context. */
  public static final int CU_MEMHOSTREGISTER_PORTABLE = 1;

  public static final int CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4;

  static {
    Native.register(LibCuda.class, "libcuda.so.1");
  }

  private LibCuda() {}

  /**
   * Initialises this class, so that a missing library shows here.
   *
   * @throws UnsatisfiedLinkError if JNA or the driver cannot be loaded
   */
  static void load() {}

  public static native int cuMemHostAlloc(PointerByReference address, long bytes, int flags);

  public static native int cuMemFreeHost(com.sun.jna.Pointer address);

  public static native int cuMemHostRegister_v2(com.sun.jna.Pointer address, long bytes, int flags);

  public static native int cuMemHostUnregister(com.sun.jna.Pointer address);

  public static native int cuDeviceGetDefaultMemPool(PointerByReference pool, int device);

  public static native int cuMemPoolSetAttribute(
      com.sun.jna.Pointer pool, int attribute, long[] value);

  public static native int cuMemPoolTrimTo(com.sun.jna.Pointer pool, long minBytesToKeep);
}
