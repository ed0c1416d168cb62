package org.tilespark.kernels.device;

import jcuda.driver.CUresult;

/** A CUDA failure of no device, for tests of what happens after one. */
public final class HandMadeFailure {
  private HandMadeFailure() {}

  /** One that the process cannot get past. */
  public static CudaFailure sticky() {
    return CudaFailure.of(
        "cuStreamSynchronize", CUresult.CUDA_ERROR_LAUNCH_FAILED, "", "a device made by hand");
  }
}
