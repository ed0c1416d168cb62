package org.tilespark.kernels.memory;

import java.util.List;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.memory.SlabAllocator.Slab;

/**
 * A pool for memory that is slow to allocate: the memory is allocated in slabs and kept for reuse,
 * with a {@link SlabAllocator}. In the steady state no slab is allocated. Safe for several threads:
 * while one thread allocates a slab, others can take and return ranges of existing slabs.
 */
public final class SlabPool {
  private final SlabAllocator slabs;
  private final Memory memory;
  // Held while a slab is allocated, so that many tasks that start together share one slab.
  private final Object growing = new Object();

  /** Source of slabs. Thread-safe. */
  public interface Memory {
    /**
     * Allocates a slab at a multiple of {@link SlabAllocator#PAGE_BYTES}.
     *
     * @throws ResourceException if there is not enough memory
     */
    long make(long bytes);

    /** Frees a slab. */
    void free(long address, long bytes);

    /**
     * The exception for a request that failed for good.
     *
     * @param refusal exception of the last attempt
     * @param bytes bytes requested
     * @param freedBytes unused bytes that the pool had freed before the last attempt
     */
    RuntimeException exhausted(ResourceException refusal, long bytes, long freedBytes);
  }

  /**
   * An empty pool; {@code maxFreeBytes} and {@code mostSlabBytes} are those of {@link
   * SlabAllocator}.
   */
  public SlabPool(long maxFreeBytes, long mostSlabBytes, Memory memory) {
    this.slabs = new SlabAllocator(maxFreeBytes, mostSlabBytes);
    this.memory = memory;
  }

  /**
   * The address of a range of {@code bytes} bytes, which the caller gives back.
   *
   * @param bytes more than 0
   * @throws RuntimeException the exception of {@link Memory#exhausted}, if there is no memory for
   *     this request alone even after all unused slabs were freed
   */
  public long take(long bytes) {
    OptionalLong address = slabs.allocate(bytes);
    if (address.isPresent()) {
      return address.getAsLong();
    }
    synchronized (growing) {
      // Meanwhile another thread may have added a slab or returned a range.
      address = slabs.allocate(bytes);
      return address.isPresent() ? address.getAsLong() : grow(bytes);
    }
  }

  /** Takes back the range that {@link #take} returned for {@code bytes} bytes. */
  public void giveBack(long address, long bytes) {
    free(slabs.free(address, bytes));
  }

  /**
   * Allocates a slab ahead of need, unless the slabs would then have more than {@code bytes} bytes.
   *
   * @return true if a slab was allocated and kept
   * @throws ResourceException if there is not enough memory
   */
  public boolean makeAhead(long bytes) {
    synchronized (growing) {
      long there = slabs.slabBytes();
      long slabBytes = slabs.nextSlabBytes();
      if (there + slabBytes > bytes) {
        return false;
      }
      giveBack(add(slabBytes, slabBytes), slabBytes);
      return slabs.slabBytes() > there;
    }
  }

  /** Adds a slab and returns the address of its first range; a smaller slab if memory is short. */
  private long grow(long bytes) {
    long wanted = slabs.slabBytesFor(bytes);
    try {
      return add(wanted, bytes);
    } catch (ResourceException first) {
      long freed = trim();
      if (freed > 0) {
        try {
          return add(wanted, bytes);
        } catch (ResourceException second) {
          // The last attempt is a slab for this request alone.
        }
      }
      try {
        return add(SlabAllocator.pages(bytes), bytes);
      } catch (ResourceException last) {
        throw memory.exhausted(last, bytes, freed);
      }
    }
  }

  private long add(long slabBytes, long bytes) {
    long address = memory.make(slabBytes);
    slabs.add(address, slabBytes, bytes);
    return address;
  }

  /** Keeps more unused bytes, as {@link SlabAllocator#keepsMore}. */
  public void keepsMore(LongSupplier bytes, long most) {
    slabs.keepsMore(bytes, most);
  }

  /** Frees the slabs of which nothing is in use; returns their bytes. */
  public long trim() {
    return free(slabs.trim());
  }

  /** Frees unused slabs as {@link #trim} does; from now on each slab is freed once it is unused. */
  public void shut() {
    free(slabs.shut());
  }

  private long free(List<Slab> unused) {
    long bytes = 0;
    RuntimeException failure = null;
    for (Slab slab : unused) {
      try {
        memory.free(slab.address(), slab.bytes());
        bytes += slab.bytes();
      } catch (RuntimeException e) { // other slabs may still be freed
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
    return bytes;
  }

  /** True if all of a range is in this pool's memory. */
  public boolean holds(long address, long bytes) {
    return slabs.holds(address, bytes);
  }

  /** Bytes of ranges taken and not given back, in whole pages. */
  public long liveBytes() {
    return slabs.liveBytes();
  }

  /** Unused bytes kept for the next request. */
  public long freeBytes() {
    return slabs.freeBytes();
  }
}
