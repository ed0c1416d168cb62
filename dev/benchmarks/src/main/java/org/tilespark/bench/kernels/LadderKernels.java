package org.tilespark.bench.kernels;

import org.tilespark.kernels.device.CudaDevice;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * Kernels of the tutorials' rungs, which the released jar does not contain, and tilespark's
 * kernels.
 */
final class LadderKernels {
  private LadderKernels() {}

  /** Returns the rungs' kernels only; empty if they were built without nvcc. */
  static KernelIndex index() {
    return KernelIndex.read("/org/tilespark/bench/kernels/");
  }

  /** Opens the first device with the rungs' and tilespark's kernels. The caller closes it. */
  static CudaDevice openDevice() {
    return CudaDevice.open(0, KernelIndex.ofThisJar().with(index()));
  }
}
