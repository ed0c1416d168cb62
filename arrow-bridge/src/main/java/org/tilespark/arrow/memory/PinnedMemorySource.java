package org.tilespark.arrow.memory;

import org.tilespark.kernels.device.PinnedBuffer;
import org.tilespark.kernels.device.PinnedPool;

/** Pinned memory from a pool, which a device reads and writes directly. */
public final class PinnedMemorySource implements HostMemorySource {
  private final PinnedPool pool;

  /** Memory from {@code pool}; borrows it. */
  public PinnedMemorySource(PinnedPool pool) {
    this.pool = pool;
  }

  @Override
  public Allocation allocate(long bytes) {
    PinnedBuffer buffer = pool.take(bytes);
    return new Allocation() {
      @Override
      public long address() {
        return buffer.address();
      }

      @Override
      public void free() {
        buffer.close();
      }

      @Override
      public boolean isPinned() {
        return true;
      }
    };
  }

  @Override
  public boolean isPinned() {
    return true;
  }

  @Override
  public boolean pins(long address, long bytes) {
    return pool.holds(address, bytes);
  }
}
