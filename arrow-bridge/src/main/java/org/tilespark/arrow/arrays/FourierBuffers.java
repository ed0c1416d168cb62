package org.tilespark.arrow.arrays;

import java.util.function.LongFunction;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;

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
    for (DeviceOperation operation : plan.operations()) {
      int to = operation.isInPlace() ? at : 1 - at;
      operation.enqueue(
          new DeviceOperation.Work(
              machine,
              buffers[at],
              buffers[to],
              buffers[FourierDevicePlan.area(operation, at)],
              vectors,
              vectorsOffset,
              compute));
      for (double[] vector : operation.vectors()) {
        vectorsOffset += (long) vector.length * Double.BYTES;
      }
      at = to;
    }
    return at;
  }

  @Override
  public void close() {
    scope.close();
  }
}
