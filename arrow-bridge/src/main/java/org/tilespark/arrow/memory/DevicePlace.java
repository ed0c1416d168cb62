package org.tilespark.arrow.memory;

import java.util.function.LongFunction;
import java.util.function.Supplier;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.MemoryGovernor.Grant;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaDevice;

/**
 * The resources of one task's pipelines on a device; the pipelines borrow them.
 *
 * @param memory Arrow memory that is pinned
 * @param governor governor of the device's memory
 * @param allocator allocator of {@code memory}, for this task's buffers
 * @param task the task that owns the pipelines
 * @param listener receives events of the pipelines
 */
public record DevicePlace(
    CudaDevice device,
    ArrowMemory memory,
    MemoryGovernor governor,
    BufferAllocator allocator,
    DeviceTask task,
    PipelineListener listener) {
  /**
   * Checks that the memory is pinned.
   *
   * @throws IllegalArgumentException if {@code memory} is not pinned
   */
  public DevicePlace {
    if (!memory.isPinned()) {
      throw new IllegalArgumentException("A device pipeline needs pinned memory");
    }
  }

  /** Waits for the task's turn on the device. */
  public void takeTurn() {
    long start = System.nanoTime();
    task.takeTurn();
    listener.waitedForTurn(System.nanoTime() - start);
  }

  /** Device memory for a short time, as {@link MemoryGovernor#acquire}. */
  public <T extends AutoCloseable> Grant<T> acquire(
      long wanted, long least, LongFunction<T> allocate) {
    return awaitMemory(() -> governor.acquire(wanted, least, allocate, task::settle, listener));
  }

  /** Device memory for a long time, as {@link MemoryGovernor#acquireForLong}. */
  public <T extends AutoCloseable> Grant<T> acquireForLong(long bytes, LongFunction<T> allocate) {
    return awaitMemory(
        () -> governor.acquireForLong(bytes, allocate, task::settle, task::takeTurn, listener));
  }

  private <T extends AutoCloseable> Grant<T> awaitMemory(Supplier<Grant<T>> request) {
    long start = System.nanoTime();
    Grant<T> granted = request.get();
    listener.waitedForMemory(System.nanoTime() - start);
    listener.held(governor.usedBytes(), memory.allocatedBytes());
    return granted;
  }

  /** Runs {@code wait}, which waits for results of the device, and reports how long that took. */
  public void awaitResults(Runnable wait) {
    long start = System.nanoTime();
    wait.run();
    listener.waitedForResults(System.nanoTime() - start);
  }
}
