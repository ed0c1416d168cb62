package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongFunction;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.device.CudaStream;
import org.tilespark.kernels.device.DeviceBuffer;

/** The device memory of a program's arrays, and the running of a plan in it. */
final class DeviceArrays implements AutoCloseable {
  final List<DeviceBuffer> buffers = new ArrayList<>();
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
    for (long bytes : bufferBytes) {
      buffers.add(scope.own(allocate.apply(bytes)));
    }
    for (int lane = 0; lane < DeviceStaging.LANES; lane++) {
      staging[lane] = scope.own(allocate.apply(stagingBytes));
    }
    vectors = scope.own(allocate.apply(vectorBytes));
  }

  /** Allocates all buffers of a plan, on the lanes' stream for allocations. */
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

  /**
   * Allocates only the buffers of arrays, without staging and vectors, in the order of a stream.
   */
  static DeviceArrays allocate(List<Long> buffers, DeviceMachine machine, CudaStream stream) {
    return TaskScope.opening(
        scope ->
            new DeviceArrays(
                scope, buffers, 0, 0, bytes -> machine.place().device().allocate(bytes, stream)));
  }

  /** Queues the plan's operations on the arrays in the first buffers. */
  void run(DeviceProgram plan, DeviceMachine machine, CudaStream compute) {
    long vectorsOffset = 0;
    for (DeviceProgram.Step step : plan.steps()) {
      DeviceOperation operation = step.operation();
      operation.enqueue(
          new DeviceOperation.Work(
              machine,
              step.from().stream().map(buffers::get).toList(),
              buffers.get(step.to()),
              buffers.get(step.area()),
              vectors,
              vectorsOffset,
              compute));
      for (double[] vector : operation.vectors()) {
        vectorsOffset += (long) vector.length * Double.BYTES;
      }
    }
  }

  @Override
  public void close() {
    scope.close();
  }
}
