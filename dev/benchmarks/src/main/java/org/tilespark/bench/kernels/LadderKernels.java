package org.tilespark.bench.kernels;

import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.launch.KernelIndex;

/** The kernels of the ladders, which no user's jar has, together with those of tilespark. */
final class LadderKernels {
  private LadderKernels() {}

  /** The ladders' alone; empty if they were built without nvcc. */
  static KernelIndex index() {
    return KernelIndex.read("/org/tilespark/bench/kernels/");
  }

  /** The first device, with the kernels of both. The caller closes it. */
  static CudaDevice openDevice() {
    return CudaDevice.open(0, KernelIndex.ofThisJar().with(index()));
  }
}
