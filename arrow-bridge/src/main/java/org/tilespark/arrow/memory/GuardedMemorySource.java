package org.tilespark.arrow.memory;

import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.memory.GuardedPages;

/**
 * Plain host memory for tests, of {@link GuardedPages}: a use after free ends the process. Freed
 * memory is never reused. Thread-safe.
 */
public final class GuardedMemorySource implements HostMemorySource {
  /** The system property that makes executors use this memory, if it is {@code true}. */
  public static final String PROPERTY = "tilespark.guardMemory";

  private final GuardedPages pages = new GuardedPages();

  /** True if this process is to have guarded memory. */
  public static boolean isWanted() {
    return Boolean.getBoolean(PROPERTY);
  }

  @Override
  public Allocation allocate(long bytes) {
    long address;
    try {
      address = pages.take(bytes);
    } catch (ResourceException e) {
      throw new OutOfHostMemoryException(e.getMessage());
    }
    return new Allocation() {
      @Override
      public long address() {
        return address;
      }

      @Override
      public void free() {
        pages.free(address);
      }
    };
  }

  @Override
  public boolean isPinned() {
    return false;
  }
}
