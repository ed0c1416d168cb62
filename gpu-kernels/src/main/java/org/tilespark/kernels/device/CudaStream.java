package org.tilespark.kernels.device;

import java.util.function.ToIntFunction;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.HostMemory;

/**
 * A queue of device work; what is put in runs in order, after the call returned. Closing waits for
 * the work, so memory may be freed after it.
 *
 * <p>Safe for several threads, though the order of their work is then theirs to arrange.
 */
public final class CudaStream extends Owned {
  /** What {@link #callIfOpen} returns for a closed stream; no CUDA code is negative. */
  static final int CLOSED = -1;

  private final CUstream handle = new CUstream();
  // Guards handle and launchArea against close, and launchArea against other launches.
  private final Object lock = new Object();
  // The argument of one launch: the address of the struct, then the struct. The driver copies it
  // before cuLaunchKernel returns. Off the heap, so that no launch holds up garbage collection.
  private final long launchArea;
  private boolean destroyed;

  CudaStream(CudaDevice device) {
    super(device);
    device.check(
        JCudaDriver.cuStreamCreate(handle, CUstream_flags.CU_STREAM_NON_BLOCKING),
        "cuStreamCreate",
        "");
    launchArea = HostMemory.unsafe().allocateMemory(KernelModule.LAUNCH_AREA_BYTES);
    device.register(this);
  }

  /**
   * Queues a copy of all of {@code from} to the device.
   *
   * @param from memory outside the heap; borrowed until the copy is done, pinned for full speed
   * @param to borrowed until the copy is done
   * @param toOffset first byte written
   * @throws IllegalArgumentException if {@code from} is on the heap
   * @throws IndexOutOfBoundsException if it does not fit
   */
  public void upload(HostMemory from, DeviceBuffer to, long toOffset) {
    requireOffHeap(from);
    long address = to.address(device, toOffset, from.bytes());
    if (from.bytes() == 0) {
      return;
    }
    device.enter();
    device.check(
        call(
            stream ->
                JCudaDriver.cuMemcpyHtoDAsync(
                    new DevicePointer(address),
                    new HostPointer(from.offset()),
                    from.bytes(),
                    stream)),
        "cuMemcpyHtoDAsync",
        from.bytes() + " bytes");
  }

  /**
   * Queues a copy from the device that fills all of {@code to}.
   *
   * @param from borrowed until the copy is done
   * @param fromOffset first byte read
   * @param to memory outside the heap; borrowed until the copy is done, pinned for full speed
   * @throws IllegalArgumentException if {@code to} is on the heap
   * @throws IndexOutOfBoundsException if {@code from} is too short
   */
  public void download(DeviceBuffer from, long fromOffset, HostMemory to) {
    requireOffHeap(to);
    long address = from.address(device, fromOffset, to.bytes());
    if (to.bytes() == 0) {
      return;
    }
    device.enter();
    device.check(
        call(
            stream ->
                JCudaDriver.cuMemcpyDtoHAsync(
                    new HostPointer(to.offset()), new DevicePointer(address), to.bytes(), stream)),
        "cuMemcpyDtoHAsync",
        to.bytes() + " bytes");
  }

  /**
   * Queues a copy within the device.
   *
   * @param from borrowed until the copy is done
   * @param fromOffset first byte read
   * @param to borrowed until the copy is done; the ranges must not overlap
   * @param toOffset first byte written
   * @param bytes length
   * @throws IndexOutOfBoundsException if a range does not fit its buffer
   */
  public void copy(DeviceBuffer from, long fromOffset, DeviceBuffer to, long toOffset, long bytes) {
    long source = from.address(device, fromOffset, bytes);
    long target = to.address(device, toOffset, bytes);
    if (bytes == 0) {
      return;
    }
    device.enter();
    device.check(
        call(
            stream ->
                JCudaDriver.cuMemcpyDtoDAsync(
                    new DevicePointer(target), new DevicePointer(source), bytes, stream)),
        "cuMemcpyDtoDAsync",
        bytes + " bytes");
  }

  /**
   * Queues the setting of every byte of a buffer.
   *
   * @param to borrowed until it is done
   */
  public void fill(DeviceBuffer to, byte value) {
    long address = to.address(device, 0, to.bytes());
    if (to.bytes() == 0) {
      return;
    }
    device.enter();
    device.check(
        call(
            stream ->
                JCudaDriver.cuMemsetD8Async(new DevicePointer(address), value, to.bytes(), stream)),
        "cuMemsetD8Async",
        to.bytes() + " bytes");
  }

  /** An event that is done when all work queued so far is; the caller closes it. */
  public CudaEvent record() {
    requireOpen();
    device.enter();
    CudaEvent event = new CudaEvent(device);
    try {
      device.check(
          call(stream -> JCudaDriver.cuEventRecord(event.handle(), stream)), "cuEventRecord", "");
      return event;
    } catch (RuntimeException e) {
      event.close();
      throw e;
    }
  }

  /** Makes work queued from now on wait for {@code event}, without holding up the caller. */
  public void waitFor(CudaEvent event) {
    event.requireDevice(device);
    device.enter();
    CUevent other = event.handle();
    device.check(
        call(stream -> JCudaDriver.cuStreamWaitEvent(stream, other, 0)), "cuStreamWaitEvent", "");
  }

  /** Waits until all work queued so far is done. */
  public void synchronize() {
    requireOpen();
    device.enter();
    // Not under the lock: others may go on queueing.
    device.check(JCudaDriver.cuStreamSynchronize(handle), "cuStreamSynchronize", "");
  }

  /** Launches a kernel whose struct is filled in by {@code fill}. */
  int launch(KernelModule.Launcher launcher) {
    synchronized (lock) {
      requireOpen();
      return launcher.launch(handle, launchArea);
    }
  }

  /** Makes one driver call that takes this stream. */
  int call(ToIntFunction<CUstream> call) {
    int code = callIfOpen(call);
    if (code == CLOSED) {
      requireOpen();
    }
    return code;
  }

  /** The same; {@link #CLOSED} if this stream is closed. */
  int callIfOpen(ToIntFunction<CUstream> call) {
    synchronized (lock) {
      return destroyed ? CLOSED : call.applyAsInt(handle);
    }
  }

  @Override
  void release() {
    device.enter();
    int waited = JCudaDriver.cuStreamSynchronize(handle);
    int code;
    synchronized (lock) {
      destroyed = true;
      code = JCudaDriver.cuStreamDestroy(handle);
      HostMemory.unsafe().freeMemory(launchArea);
    }
    device.check(waited, "cuStreamSynchronize", "");
    device.check(code, "cuStreamDestroy", "");
  }

  @Override
  int closingOrder() {
    return 0;
  }

  private static void requireOffHeap(HostMemory memory) {
    if (!memory.isOffHeap()) {
      throw new IllegalArgumentException(
          "Asynchronous copies need memory outside the Java heap, found "
              + memory.base().getClass().getTypeName()
              + "; copy it to a pinned buffer first");
    }
  }

  @Override
  public String toString() {
    return "stream of " + device.where();
  }
}
