package org.tilespark.kernels.device;

import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * A mark in a stream's queue, made by {@link CudaStream#record}. Safe for several threads. It may
 * be closed while streams wait for it.
 */
public final class CudaEvent extends Owned implements UploadTurns.Mark {
  private final CUevent handle;

  CudaEvent(CudaDevice device) {
    super(device);
    handle = device.idleEvents().take().orElseGet(() -> create(device));
    device.register(this);
  }

  private static CUevent create(CudaDevice device) {
    CUevent event = new CUevent();
    device.check(
        JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_BLOCKING_SYNC),
        "cuEventCreate",
        "");
    return event;
  }

  /** Waits until the work before the mark is done; the thread sleeps rather than spins. */
  @Override
  public void synchronize() {
    requireOpen();
    device.enter();
    device.check(JCudaDriver.cuEventSynchronize(handle), "cuEventSynchronize", "");
  }

  /** True if the work before the mark is done. */
  public boolean isDone() {
    requireOpen();
    device.enter();
    int code = JCudaDriver.cuEventQuery(handle);
    if (code == CUresult.CUDA_ERROR_NOT_READY) {
      return false;
    }
    device.check(code, "cuEventQuery", "");
    return true;
  }

  /**
   * Milliseconds of device time from {@code earlier} to this mark, to about half a microsecond. The
   * work before both marks must be done.
   */
  public float millisSince(CudaEvent earlier) {
    requireOpen();
    earlier.requireDevice(device);
    device.enter();
    float[] millis = new float[1];
    device.check(
        JCudaDriver.cuEventElapsedTime(millis, earlier.handle, handle), "cuEventElapsedTime", "");
    return millis[0];
  }

  CUevent handle() {
    requireOpen();
    return handle;
  }

  @Override
  void release() {
    // Streams that wait for the event refer to its last record, so the handle may be recorded
    // again.
    if (!device.idleEvents().offer(handle)) {
      device.enter();
      device.check(JCudaDriver.cuEventDestroy(handle), "cuEventDestroy", "");
    }
  }

  @Override
  int closingOrder() {
    return 1;
  }

  @Override
  public String toString() {
    return "event of " + device.where();
  }
}
