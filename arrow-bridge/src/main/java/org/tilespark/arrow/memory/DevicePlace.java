package org.tilespark.arrow.memory;

import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.pipeline.DeviceTask;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.kernels.device.CudaDevice;

/**
 * Where the pipelines of one task work on a device; they borrow all of it.
 *
 * @param memory pinned memory
 * @param governor of the device's memory
 * @param allocator of {@code memory}, for this task's buffers
 * @param task whose pipelines these are
 * @param listener hears what they do
 */
public record DevicePlace(
    CudaDevice device,
    ArrowMemory memory,
    MemoryGovernor governor,
    BufferAllocator allocator,
    DeviceTask task,
    PipelineListener listener) {
  /**
   * Checks the memory.
   *
   * @throws IllegalArgumentException if {@code memory} is not pinned
   */
  public DevicePlace {
    if (!memory.isPinned()) {
      throw new IllegalArgumentException("A device pipeline needs pinned memory");
    }
  }
}
