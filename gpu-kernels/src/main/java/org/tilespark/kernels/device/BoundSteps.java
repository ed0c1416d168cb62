package org.tilespark.kernels.device;

import java.util.List;
import jcuda.driver.CUfunction;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.tilespark.kernels.plan.KernelLaunch;
import org.tilespark.kernels.plan.MultiplyStep;

/**
 * Steps of a multiply on one device, ready but for where the sides begin: kernels are found and
 * structs laid out once, and queueing them makes next to no garbage. Safe for several threads.
 */
final class BoundSteps {
  private final CudaDevice device;
  private final Step[] steps;

  /** One step. */
  private interface Step {
    /** Queues it; the driver's code. */
    int queue(CUstream stream, LaunchArea area, long[] sides);

    /** The driver's call. */
    String call();

    /** What is queued, for the message of a failure. */
    String describe();
  }

  /** Loads the kernels that are not loaded yet. */
  BoundSteps(CudaDevice device, List<MultiplyStep> steps) {
    this.device = device;
    this.steps = steps.stream().map(step -> bind(step, device)).toArray(Step[]::new);
  }

  private static Step bind(MultiplyStep step, CudaDevice device) {
    if (step instanceof MultiplyStep.Run run) {
      KernelModule kernels = device.kernels();
      return new Launch(
          run.launch(),
          kernels.function(run.launch().kernel()),
          new ArgumentStruct(run, kernels::encode));
    }
    return new Clear((MultiplyStep.Clear) step);
  }

  private record Launch(KernelLaunch launch, CUfunction function, ArgumentStruct struct)
      implements Step {
    @Override
    public int queue(CUstream stream, LaunchArea area, long[] sides) {
      struct.fill(area.struct(), sides);
      return KernelModule.launch(function, launch.config(), area, stream);
    }

    @Override
    public String call() {
      return "cuLaunchKernel";
    }

    @Override
    public String describe() {
      return launch.toString();
    }
  }

  private record Clear(MultiplyStep.Clear clear) implements Step {
    @Override
    public int queue(CUstream stream, LaunchArea area, long[] sides) {
      return JCudaDriver.cuMemsetD8Async(
          new DevicePointer(ArgumentStruct.address(clear.at(), sides)),
          (byte) 0,
          clear.bytes(),
          stream);
    }

    @Override
    public String call() {
      return "cuMemsetD8Async";
    }

    @Override
    public String describe() {
      return clear.bytes() + " bytes";
    }
  }

  /**
   * Queues all, one behind the other: nothing else comes between on this stream. The context must
   * be current.
   *
   * @param sides of {@link ArgumentStruct#sides}
   */
  void enqueue(long[] sides, CudaStream stream) {
    stream.launch(
        (handle, area) -> {
          for (Step step : steps) {
            int code = step.queue(handle, area, sides);
            if (code != CUresult.CUDA_SUCCESS) {
              device.check(code, step.call(), step.describe());
            }
          }
        });
  }
}
