package org.tilespark.spark.runtime;

import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ForeignAllocation;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Tells a task which of the memory that stays until its end, such as what an exchange gave it, a
 * device can copy from directly. For the task's thread; closed with the task's allocator.
 */
public final class StayingMemory implements AutoCloseable {
  private final ArrowMemory memory;
  private ArrowBuf owner; // stands for all of it; null before it is needed

  StayingMemory(ArrowMemory memory) {
    this.memory = memory;
  }

  /**
   * The owner by which a pipeline knows that values can be read in place until the task ends; empty
   * if no device can.
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
                      // It stays for other reasons.
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
