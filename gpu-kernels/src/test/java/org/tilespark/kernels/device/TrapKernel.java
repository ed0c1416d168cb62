package org.tilespark.kernels.device;

import java.nio.charset.StandardCharsets;
import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;

/** A kernel that traps: a CUDA error that the process cannot get past. For a process of its own. */
public final class TrapKernel {
  private static final String PTX =
      """
      .version 7.0
      .target sm_75
      .address_size 64
      .visible .entry trap_at_once() { trap; }
      """;

  private TrapKernel() {}

  /** Launches it and waits for nothing; the next call on the device fails. */
  public static void launch(CudaDevice device) {
    device.enter();
    byte[] text = (PTX + "\0").getBytes(StandardCharsets.US_ASCII);
    CUmodule module = new CUmodule();
    device.check(JCudaDriver.cuModuleLoadData(module, text), "cuModuleLoadData", "");
    CUfunction function = new CUfunction();
    device.check(
        JCudaDriver.cuModuleGetFunction(function, module, "trap_at_once"),
        "cuModuleGetFunction",
        "");
    device.check(
        JCudaDriver.cuLaunchKernel(
            function, 1, 1, 1, 1, 1, 1, 0, null, Pointer.to(new byte[0]), null),
        "cuLaunchKernel",
        "trap_at_once");
  }
}
