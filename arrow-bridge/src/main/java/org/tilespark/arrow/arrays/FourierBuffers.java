package org.tilespark.arrow.arrays;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import org.tilespark.arrow.arrays.FourierChain.State;
import org.tilespark.arrow.arrays.FourierDevicePlan.Moves;
import org.tilespark.arrow.arrays.FourierDevicePlan.Operation;
import org.tilespark.arrow.arrays.FourierDevicePlan.Pointwise;
import org.tilespark.arrow.arrays.FourierDevicePlan.Reorder;
import org.tilespark.arrow.arrays.FourierDevicePlan.Transform;
import org.tilespark.arrow.arrays.FourierMoves.Move;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.transpose.TransposeProblem;

/** The device's memory of one array, and what a plan does in it. */
final class FourierBuffers implements AutoCloseable {
  final DeviceBuffer[] buffers = new DeviceBuffer[3];
  final DeviceBuffer[] staging = new DeviceBuffer[FourierMemory.LANES];
  final DeviceBuffer vectors;
  private final TaskScope scope;

  private FourierBuffers(
      TaskScope scope,
      FourierDevicePlan plan,
      long stagingBytes,
      LongFunction<DeviceBuffer> allocate) {
    this.scope = scope;
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = scope.own(allocate.apply(plan.buffers().get(i)));
    }
    for (int lane = 0; lane < FourierMemory.LANES; lane++) {
      staging[lane] = scope.own(allocate.apply(stagingBytes));
    }
    vectors = scope.own(allocate.apply(plan.vectorBytes()));
  }

  /** Allocates what a plan needs, on the lanes' stream for that. */
  static FourierBuffers allocate(
      FourierDevicePlan plan, long stagingBytes, FourierMachine machine, FourierLanes lanes) {
    return TaskScope.opening(
        scope ->
            new FourierBuffers(
                scope,
                plan,
                stagingBytes,
                bytes -> machine.place().device().allocate(bytes, lanes.allocations())));
  }

  /**
   * Queues what the plan says happens to the array in the first buffer.
   *
   * @return the number of the buffer that holds the result
   */
  int run(FourierDevicePlan plan, FourierMachine machine, CudaStream compute) {
    int at = 0;
    long vectorsOffset = 0;
    for (Operation operation : plan.operations()) {
      DeviceBuffer from = buffers[at];
      at = operation.isInPlace() ? at : 1 - at;
      DeviceBuffer to = buffers[at];
      if (operation instanceof Transform transform) {
        int area = transform.isInPlace() ? 1 - at : 2;
        machine
            .fourier()
            .transform(
                machine.fourier().plan(transform.problem(), transform.workLimit()),
                from,
                to,
                buffers[area],
                compute);
      } else if (operation instanceof Reorder reorder) {
        machine
            .transposer()
            .enqueue(
                new TransposeProblem(
                    reorder.before().shape(), reorder.permutation(), width(reorder.before())),
                from,
                0,
                to,
                0,
                compute);
      } else if (operation instanceof Moves moves) {
        move(moves, from, to, machine, compute);
      } else if (operation instanceof Pointwise pointwise) {
        machine.fourier().pointwise(pointwise.program(), vectors, vectorsOffset, from, to, compute);
        vectorsOffset += pointwise.program().vectorElements() * Double.BYTES;
      }
    }
    return at;
  }

  /** Bytes of an element, complex or real. */
  private static int width(State state) {
    return state.type().bytes() * state.planes();
  }

  private static void move(
      Moves moves, DeviceBuffer from, DeviceBuffer to, FourierMachine machine, CudaStream compute) {
    int width = width(moves.before());
    if (moves.leavesGaps()) {
      compute.fill(to, (byte) 0);
    }
    List<DeviceTransposer.Part> boxes = new ArrayList<>();
    for (Move move : moves.moves()) {
      boxes.add(
          new DeviceTransposer.Part(
              move.problem(width), move.fromElement() * width, move.toElement() * width));
    }
    machine.transposer().enqueueAll(boxes, from, to, compute);
  }

  @Override
  public void close() {
    scope.close();
  }
}
