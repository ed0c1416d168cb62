package org.tilespark.arrow.store;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.OutOfHostMemoryException;
import org.tilespark.kernels.memory.SlabAllocator;

/**
 * Memory for many ranges that are freed together. It is allocated in extents, each an eighth of the
 * memory so far, so that at most about a ninth is unused and the number of extents grows with the
 * logarithm of the size. The size of an extent is a multiple of the range it was allocated for,
 * since ranges usually have the same size. For one thread at a time.
 */
public final class Arena implements AutoCloseable {
  /** Most bytes of an extent, unless a single range needs more. */
  static final long MOST_BYTES = 8 << 20;

  private static final long LEAST_BYTES = 16 << 10;
  private static final int GROWTH = 8; // an extent has 1 / GROWTH of the bytes of all before

  /** Values of Spark's rows begin at multiples of 8 bytes. */
  private static final long ALIGNMENT_BYTES = 8;

  private final HostMemorySource source;
  private final StoreBudget budget;
  private final List<HostMemorySource.Allocation> extents = new ArrayList<>();
  private long heldBytes;
  private long next; // where the next range begins in the last extent
  private long end; // of the last extent

  /** An arena without memory; borrows source and budget. */
  public Arena(HostMemorySource source, StoreBudget budget) {
    this.source = source;
    this.budget = budget;
  }

  /**
   * The address of {@code bytes} bytes, which begin at a multiple of 8; 0 if the budget or the
   * machine has too few. Valid until the arena is closed.
   */
  public long allocate(long bytes) {
    long rounded = Math.addExact(bytes, ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
    if (end - next < rounded && !grow(rounded)) {
      return 0;
    }
    long address = next;
    next += rounded;
    return address;
  }

  private boolean grow(long least) {
    long room = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, heldBytes / GROWTH));
    long wanted = Math.max(1, room / least) * least;
    return extent(SlabAllocator.pages(wanted))
        || (least < wanted && extent(SlabAllocator.pages(least)));
  }

  private boolean extent(long bytes) {
    if (!budget.take(bytes)) {
      return false;
    }
    HostMemorySource.Allocation extent;
    try {
      extent = source.allocate(bytes);
    } catch (OutOfHostMemoryException e) { // the machine has less than the budget says
      budget.giveBack(bytes);
      return false;
    } catch (Throwable e) {
      budget.giveBack(bytes);
      throw e;
    }
    extents.add(extent);
    heldBytes += bytes;
    next = extent.address();
    end = next + bytes;
    return true;
  }

  /** Bytes of all extents. */
  public long heldBytes() {
    return heldBytes;
  }

  /** The address of the arena's first byte; 0 if the arena is empty. */
  long address() {
    return extents.isEmpty() ? 0 : extents.get(0).address();
  }

  /** True if a device can copy directly from all of the memory. */
  boolean isPinned() {
    return extents.stream().allMatch(HostMemorySource.Allocation::isPinned);
  }

  /** Frees all memory. Afterwards the arena is empty and may be used again. */
  @Override
  public void close() {
    budget.giveBack(heldBytes); // first, since the pool may keep as much as the budget has unused
    heldBytes = 0;
    extents.forEach(HostMemorySource.Allocation::free);
    extents.clear();
    next = 0;
    end = 0;
  }
}
