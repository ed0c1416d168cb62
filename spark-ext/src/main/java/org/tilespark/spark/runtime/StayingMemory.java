package org.tilespark.spark.runtime;

import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ForeignAllocation;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Tells a task whether a device can copy directly from memory that stays until the task's end, for
 * example memory of an exchange. For the task's thread; closed with the task's allocator.
 */
public final class StayingMemory implements AutoCloseable {
  private final ArrowMemory memory;
  private ArrowBuf owner; // the buffer that stands for this memory; null until needed

  StayingMemory(ArrowMemory memory) {
    this.memory = memory;
  }

  /**
   * A buffer that stands for all of this memory: given to a pipeline as the owner of {@code
   * values}, it says that a device can read them in place until the task ends. Empty if no device
   * can.
   */
  public Optional<ArrowBuf> owner(HostMemory values) {
    if (!memory.pins(values)) {
      return Optional.empty();
    }
    if (owner == null) {
      owner =
          memory
              .root()
              .wrapForeignAllocation(
                  new ForeignAllocation(1, values.offset()) {
                    @Override
                    protected void release0() {
                      // Nothing is freed: others keep the memory until the task ends.
                    }
                  });
    }
    return Optional.of(owner);
  }

  @Override
  public void close() {
    if (owner != null) {
      owner.close();
      owner = null;
    }
  }
}
