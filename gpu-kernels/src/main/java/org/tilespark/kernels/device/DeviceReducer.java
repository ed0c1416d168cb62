package org.tilespark.kernels.device;

import org.tilespark.kernels.device.DeviceElementwise.At;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.kernels.reduce.ReductionPlan;
import org.tilespark.kernels.reduce.ReductionPlan.Place;
import org.tilespark.kernels.reduce.ReductionPlan.Step;
import org.tilespark.kernels.reduce.ReductionPlanner;
import org.tilespark.kernels.reduce.ReductionProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * Reductions on a device: the same bits as {@link org.tilespark.kernels.host.HostReducer}. Arrays
 * are dense, row-major and real. All work is queued on the caller's stream and uses the caller's
 * memory. Safe for several threads.
 */
public final class DeviceReducer {
  private static final int PLANS = 256;

  private final CudaDevice device;
  private final PlanCache<Asked, ReductionPlan> plans = new PlanCache<>(PLANS);

  /** A reduction, and whether its array begins at a multiple of the widest load's bytes. */
  private record Asked(ReductionProblem problem, boolean isAligned) {}

  /** Runs reductions on a device, which is borrowed. */
  public DeviceReducer(CudaDevice device) {
    this.device = device;
  }

  private ReductionPlan plan(ReductionProblem problem, boolean isAligned) {
    return plans.get(
        new Asked(problem, isAligned),
        asked -> ReductionPlanner.plan(asked.problem(), asked.isAligned(), device.ownKernels()));
  }

  /**
   * Bytes of device memory that a reduction needs besides the array and the results.
   *
   * @throws IllegalArgumentException if there are no elements, or if, after fusing neighbouring
   *     axes, more than two axes are reduced or more than two are kept
   */
  public long workspaceBytes(ReductionProblem problem) {
    return plan(problem, true).workspaceBytes(); // the same for both alignments
  }

  /**
   * Queues a reduction; returns before the reduction is done.
   *
   * @param in the array, borrowed until the reduction is done, as are {@code out} and {@code
   *     workspace}
   * @param out the results, which do not overlap the array
   * @param workspace {@link #workspaceBytes} bytes, which overlap neither the array nor the
   *     results; begins at a multiple of 16
   * @throws IllegalArgumentException as {@link #workspaceBytes}, or if an offset is no multiple of
   *     the width of an element
   * @throws IndexOutOfBoundsException if an array does not fit its buffer
   */
  public void reduce(ReductionProblem problem, At in, At out, At workspace, CudaStream stream) {
    long array = address(in, problem.shape(), problem.type());
    ReductionPlan plan = plan(problem, array % ReductionPlanner.VECTOR_BYTES == 0);
    long[] sides = { // by ordinal of ReductionPlan.Side
      array,
      address(out, problem.outputShape(), problem.outputType()),
      plan.workspaceBytes() == 0 ? 0 : workspace(workspace, plan)
    };
    device.enter();
    for (Step step : plan.steps()) {
      long[] pointers = {
        address(step.in(), sides), address(step.best(), sides), address(step.out(), sides)
      };
      device.kernels().launch(step.launch(), pointers, stream);
    }
  }

  private static long address(Place place, long[] sides) {
    return sides[place.side().ordinal()] + place.bytes();
  }

  private long workspace(At at, ReductionPlan plan) {
    requireMultiple(at, 2 * Long.BYTES);
    return at.buffer().address(device, at.offset(), plan.workspaceBytes());
  }

  private long address(At at, Shape shape, ElementType type) {
    requireMultiple(at, type.bytes());
    long bytes = Math.multiplyExact(shape.elements(), (long) type.bytes());
    return at.buffer().address(device, at.offset(), bytes);
  }

  private static void requireMultiple(At at, int of) {
    if (at.offset() % of != 0) {
      throw new IllegalArgumentException(
          "Memory of a reduction at offset %s; expected a multiple of %s"
              .formatted(at.offset(), of));
    }
  }

  @Override
  public String toString() {
    return "reductions on " + device.description();
  }
}
