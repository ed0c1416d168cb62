package org.tilespark.kernels.device;

import com.sun.jna.ptr.PointerByReference;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.device.driver.DevicePointer;
import org.tilespark.kernels.device.driver.LibCuda;
import org.tilespark.kernels.memory.AvailableMemory;
import org.tilespark.kernels.memory.HugePageMemory;
import org.tilespark.kernels.memory.HugePages;

/**
 * Memory of one device, and host memory that is pinned for it, allocated by the driver. This class
 * counts it; the buffers own it. Thread-safe.
 */
final class DriverMemory {
  private static final Logger LOG = LoggerFactory.getLogger(DriverMemory.class);

  private final CudaDevice device;
  private final HugePageMemory hostPages = new HugePageMemory();
  private final boolean isPooled;
  private final com.sun.jna.Pointer pool; // null unless isPooled
  private final AtomicLong liveDeviceBytes = new AtomicLong();
  private final AtomicLong livePinnedBytes = new AtomicLong();

  /**
   * Memory of {@code device}, whose context is current.
   *
   * @param isPooled true if the driver has stream-ordered pools for the device
   */
  DriverMemory(CudaDevice device, boolean isPooled) {
    this.device = device;
    this.isPooled = isPooled;
    this.pool = isPooled ? openPool() : null;
  }

  /**
   * The device's own pool, set to keep freed memory instead of giving it back at each
   * synchronization.
   */
  private com.sun.jna.Pointer openPool() {
    PointerByReference pool = new PointerByReference();
    device.check(
        LibCuda.cuDeviceGetDefaultMemPool(pool, device.ordinal()), "cuDeviceGetDefaultMemPool", "");
    device.check(
        LibCuda.cuMemPoolSetAttribute(
            pool.getValue(), LibCuda.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, new long[] {-1L}),
        "cuMemPoolSetAttribute",
        "");
    return pool.getValue();
  }

  /** Bytes of device memory that are not freed. */
  long liveDeviceBytes() {
    return liveDeviceBytes.get();
  }

  /** Bytes of pinned memory that are not freed. */
  long livePinnedBytes() {
    return livePinnedBytes.get();
  }

  /** Gives the memory that the driver's pool keeps unused back to the device. */
  void trim() {
    if (isPooled) {
      device.enter();
      device.check(LibCuda.cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo", "");
    }
  }

  /** Allocates device memory as {@link CudaDevice#allocate} does; returns its address. */
  long allocate(long bytes, CudaStream stream) {
    device.enter();
    DevicePointer pointer = new DevicePointer();
    if (bytes > 0) {
      int code = tryAllocate(pointer, bytes, stream);
      if (code == CUresult.CUDA_ERROR_OUT_OF_MEMORY && isPooled) {
        // Buffers freed on other streams count as free only once their streams have reached the
        // free.
        device.check(JCudaDriver.cuCtxSynchronize(), "cuCtxSynchronize", "");
        device.check(LibCuda.cuMemPoolTrimTo(pool, 0), "cuMemPoolTrimTo", "");
        pointer = new DevicePointer();
        code = tryAllocate(pointer, bytes, stream);
      }
      if (code == CUresult.CUDA_ERROR_OUT_OF_MEMORY) {
        CudaDevice.MemoryInfo memory = device.memoryInfo();
        throw new DeviceOutOfMemoryException(
            ("Device memory: %s bytes requested, %s of %s bytes free, %s bytes held by"
                    + " this process's buffers, on %s")
                .formatted(
                    bytes,
                    memory.freeBytes(),
                    memory.totalBytes(),
                    liveDeviceBytes(),
                    device.where()),
            bytes,
            memory.freeBytes());
      }
      device.check(code, isPooled ? "cuMemAllocAsync" : "cuMemAlloc", bytes + " bytes");
    }
    liveDeviceBytes.addAndGet(bytes);
    return pointer.address();
  }

  /**
   * Allocates device memory of whole 16-byte vectors, since kernels may read to the end of the last
   * vector (copy_shifted.cu).
   */
  private int tryAllocate(DevicePointer pointer, long bytes, CudaStream stream) {
    long whole = bytes > Long.MAX_VALUE - 15 ? bytes : (bytes + 15) / 16 * 16;
    return isPooled
        ? stream.call(handle -> JCudaDriver.cuMemAllocAsync(pointer, whole, handle))
        : JCudaDriver.cuMemAlloc(pointer, whole);
  }

  /** Frees device memory: in the order of its stream, or at once if its stream is closed. */
  void free(long address, long bytes, CudaStream stream) {
    if (bytes == 0) {
      return;
    }
    device.enter();
    liveDeviceBytes.addAndGet(-bytes);
    DevicePointer pointer = new DevicePointer(address);
    if (isPooled) {
      int code = stream.callIfOpen(handle -> JCudaDriver.cuMemFreeAsync(pointer, handle));
      if (code != CudaStream.CLOSED) {
        device.check(code, "cuMemFreeAsync", bytes + " bytes");
        return;
      }
    }
    // Waits for all work on the device, so nothing still uses it.
    device.check(JCudaDriver.cuMemFree(pointer), "cuMemFree", bytes + " bytes");
  }

  /** Allocates pinned host memory, and counts it; returns its address. */
  long pin(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "Pinned buffer of " + bytes + " bytes; expected 0 or more");
    }
    device.enter();
    if (bytes == 0) {
      return 0;
    }
    long address = pinTouched(bytes).orElseGet(() -> allocatePinned(bytes));
    livePinnedBytes.addAndGet(bytes);
    return address;
  }

  /**
   * Allocates memory, touches it on all cores and pins it. That takes an eighth of the driver's
   * time, which clears memory on one core, a small page at a time. Empty if no memory could be
   * pinned in this way.
   */
  private OptionalLong pinTouched(long bytes) {
    // The operating system promises more memory than it has, and ends processes that touch too
    // much. Half of the available memory leaves room for other processes that allocate at the same
    // time.
    if (bytes < HugePages.BYTES || bytes > AvailableMemory.bytes() / 2) {
      return OptionalLong.empty();
    }
    OptionalLong taken = hostPages.take(bytes);
    if (taken.isEmpty()) {
      return taken;
    }
    long address = taken.getAsLong();
    int code = CUresult.CUDA_ERROR_UNKNOWN;
    try {
      HugePageMemory.touch(address, bytes);
      code =
          LibCuda.cuMemHostRegister_v2(
              new com.sun.jna.Pointer(address), bytes, LibCuda.CU_MEMHOSTREGISTER_PORTABLE);
    } finally {
      if (code != CUresult.CUDA_SUCCESS) {
        hostPages.free(address);
      }
    }
    if (code == CUresult.CUDA_SUCCESS) {
      return taken;
    }
    LOG.debug("cuMemHostRegister of {} bytes: {}", bytes, CUresult.stringFor(code));
    return OptionalLong.empty();
  }

  private long allocatePinned(long bytes) {
    PointerByReference address = new PointerByReference();
    int code = LibCuda.cuMemHostAlloc(address, bytes, LibCuda.CU_MEMHOSTALLOC_PORTABLE);
    // Drivers return the two further codes for sizes that no machine has.
    if (code == CUresult.CUDA_ERROR_OUT_OF_MEMORY
        || code == CUresult.CUDA_ERROR_INVALID_VALUE
        || code == CUresult.CUDA_ERROR_OPERATING_SYSTEM) {
      throw new DeviceOutOfMemoryException(
          ("Pinned host memory: %s bytes requested, the machine cannot pin as much (%s),"
                  + " %s bytes pinned by this process before, on %s")
              .formatted(bytes, CUresult.stringFor(code), livePinnedBytes(), device.where()),
          bytes,
          -1);
    }
    device.check(code, "cuMemHostAlloc", bytes + " bytes");
    return com.sun.jna.Pointer.nativeValue(address.getValue());
  }

  /** Frees pinned memory that {@link #pin} returned. */
  void unpin(long address, long bytes) {
    if (bytes == 0) {
      return;
    }
    device.enter();
    livePinnedBytes.addAndGet(-bytes);
    com.sun.jna.Pointer pointer = new com.sun.jna.Pointer(address);
    if (hostPages.holds(address)) {
      device.check(LibCuda.cuMemHostUnregister(pointer), "cuMemHostUnregister", bytes + " bytes");
      hostPages.free(address);
    } else {
      device.check(LibCuda.cuMemFreeHost(pointer), "cuMemFreeHost", bytes + " bytes");
    }
  }
}
