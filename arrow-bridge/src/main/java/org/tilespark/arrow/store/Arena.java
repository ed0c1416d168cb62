package org.tilespark.arrow.store;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.OutOfHostMemoryException;
import org.tilespark.kernels.memory.SlabAllocator;

/**
 * Memory for many ranges that are freed together: it is taken in extents that grow with what was
 * asked for, so that small users waste little and large ones make few requests. For one thread at a
 * time.
 */
public final class Arena implements AutoCloseable {
  static final long MOST_BYTES = 32 << 20;

  /** How large extents are, up to {@link #MOST_BYTES} where no single range asks for more. */
  enum Growth {
    /** Few requests, for memory that is given back soon: as large as all before together. */
    SHORT_LIVED {
      @Override
      long next(long least, long heldBytes) {
        return Math.max(least, Math.min(MOST_BYTES, Math.max(256 << 10, heldBytes)));
      }
    },
    /**
     * Little unused, for memory that is kept: a quarter of all before together, and room for a
     * whole count of ranges like this one, since as a rule all are of one size.
     */
    LONG_LIVED {
      @Override
      long next(long least, long heldBytes) {
        long wanted = Math.min(MOST_BYTES, Math.max(16 << 10, heldBytes / 4));
        return Math.max(1, wanted / least) * least;
      }
    };

    /** Bytes of the next extent, which holds {@code least} bytes at least. */
    abstract long next(long least, long heldBytes);
  }

  /** Values of Spark's rows begin at multiples of 8 bytes. */
  private static final long ALIGNMENT_BYTES = 8;

  private final HostMemorySource source;
  private final StoreBudget budget;
  private final Growth growth;
  private final List<HostMemorySource.Allocation> extents = new ArrayList<>();
  private long heldBytes;
  private long next; // where the next range may begin, in the last extent
  private long end; // of the last extent

  /** No memory yet, soon given back; borrows both. */
  public Arena(HostMemorySource source, StoreBudget budget) {
    this(source, budget, Growth.SHORT_LIVED);
  }

  /** No memory yet; borrows source and budget. */
  Arena(HostMemorySource source, StoreBudget budget, Growth growth) {
    this.source = source;
    this.budget = budget;
    this.growth = growth;
  }

  /**
   * The address of {@code bytes} bytes, which begin at a multiple of 8; 0 if the budget or the
   * machine has not as many. Valid until this is closed.
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
    long wanted = growth.next(least, heldBytes);
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

  /** The address of the first byte; 0 if there is none. */
  long address() {
    return extents.isEmpty() ? 0 : extents.get(0).address();
  }

  /** True if a device can copy from all of it directly. */
  boolean isPinned() {
    return extents.stream().allMatch(HostMemorySource.Allocation::isPinned);
  }

  /** Frees all of it. Afterwards it is empty, and may be used again. */
  @Override
  public void close() {
    budget.giveBack(heldBytes); // first: what the budget does not use, the pool may keep
    heldBytes = 0;
    extents.forEach(HostMemorySource.Allocation::free);
    extents.clear();
    next = 0;
    end = 0;
  }
}
