package org.tilespark.arrow.blocks;

import java.util.List;
import java.util.function.LongFunction;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;

/** The device's memory of one array, and what a plan does in it. */
final class DeviceArrays implements AutoCloseable {
  final DeviceBuffer[] buffers = new DeviceBuffer[3];
  final DeviceBuffer[] staging = new DeviceBuffer[DeviceStaging.LANES];
  final DeviceBuffer vectors;
  private final TaskScope scope;

  private DeviceArrays(
      TaskScope scope,
      List<Long> bufferBytes,
      long stagingBytes,
      long vectorBytes,
      LongFunction<DeviceBuffer> allocate) {
    this.scope = scope;
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = scope.own(allocate.apply(bufferBytes.get(i)));
    }
    for (int lane = 0; lane < DeviceStaging.LANES; lane++) {
      staging[lane] = scope.own(allocate.apply(stagingBytes));
    }
    vectors = scope.own(allocate.apply(vectorBytes));
  }

  /** Allocates what a plan needs, on the lanes' stream for that. */
  static DeviceArrays allocate(
      DeviceProgram plan, long stagingBytes, DeviceMachine machine, DeviceLanes lanes) {
    return TaskScope.opening(
        scope ->
            new DeviceArrays(
                scope,
                plan.buffers(),
                stagingBytes,
                plan.vectorBytes(),
                bytes -> machine.place().device().allocate(bytes, lanes.allocations())));
  }

  /** Allocates only what lies in buffers, in the order of a stream. */
  static DeviceArrays allocate(List<Long> buffers, DeviceMachine machine, CudaStream stream) {
    return TaskScope.opening(
        scope ->
            new DeviceArrays(
                scope, buffers, 0, 0, bytes -> machine.place().device().allocate(bytes, stream)));
  }

  /**
   * Queues what the plan says happens to the array in the first buffer.
   *
   * @return the number of the buffer that holds the result
   */
  int run(DeviceProgram plan, DeviceMachine machine, CudaStream compute) {
    int at = 0;
    long vectorsOffset = 0;
    for (DeviceOperation operation : plan.operations()) {
      int to = operation.isInPlace() ? at : 1 - at;
      operation.enqueue(
          new DeviceOperation.Work(
              machine,
              buffers[at],
              buffers[to],
              buffers[DeviceProgram.area(operation, at)],
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
