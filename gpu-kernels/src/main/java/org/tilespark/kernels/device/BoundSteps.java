package org.tilespark.kernels.device;

import java.util.List;
import jcuda.driver.CUresult;
import org.tilespark.kernels.device.driver.FunctionHandle;
import org.tilespark.kernels.device.driver.StreamHandle;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.multiply.MultiplyStep;

/**
 * Steps of a multiply on one device, complete except for the addresses of the operands: kernels are
 * found and their argument structs laid out once, and queueing the steps makes next to no garbage.
 * Safe for several threads.
 */
final class BoundSteps {
  private final CudaDevice device;
  private final Launch[] launches;

  /** Loads the kernels of the steps that are not loaded yet. */
  BoundSteps(CudaDevice device, List<MultiplyStep> steps) {
    this.device = device;
    this.launches =
        steps.stream().map(step -> Launch.of(step, device.kernels())).toArray(Launch[]::new);
  }

  private record Launch(KernelLaunch launch, FunctionHandle function, ArgumentStruct struct) {
    static Launch of(MultiplyStep run, KernelModule kernels) {
      return new Launch(
          run.launch(),
          kernels.function(run.launch().kernel()),
          new ArgumentStruct(run, kernels::encode));
    }

    /** Queues the launch; returns the driver's code. */
    int queue(StreamHandle stream, LaunchArea area, long[] sides) {
      struct.fill(area.struct(), sides);
      return KernelModule.launch(function, launch.config(), area, stream);
    }
  }

  /**
   * Queues all steps in order: no other work comes between them on this stream. The context must be
   * current.
   *
   * @param sides device addresses as {@link ArgumentStruct#sides} gives them
   */
  void enqueue(long[] sides, CudaStream stream) {
    stream.launch(
        (handle, area) -> {
          for (Launch launch : launches) {
            int code = launch.queue(handle, area, sides);
            if (code != CUresult.CUDA_SUCCESS) {
              device.check(code, "cuLaunchKernel", launch.launch().toString());
            }
          }
        });
  }
}
