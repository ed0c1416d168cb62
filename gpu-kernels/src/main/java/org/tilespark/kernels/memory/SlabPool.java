package org.tilespark.kernels.memory;

import java.util.List;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.memory.SlabAllocator.Slab;

/**
 * Memory that is slow to make, made in slabs and kept for reuse: a {@link SlabAllocator} with its
 * memory. In the steady state nothing is made. Safe for several threads: while one makes a slab,
 * others take and give back ranges that need none.
 */
public final class SlabPool {
  private final SlabAllocator slabs;
  private final Memory memory;
  // Held while a slab is made: many tasks that start together then share it.
  private final Object growing = new Object();

  /** Source of slabs. Thread-safe. */
  public interface Memory {
    /**
     * Makes a slab, at a multiple of {@link SlabAllocator#PAGE_BYTES}.
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
     * @param bytes requested
     * @param freedBytes bytes that the pool kept and gave up for it, in vain
     */
    RuntimeException exhausted(ResourceException refusal, long bytes, long freedBytes);
  }

  /** An empty pool; the parameters are those of {@link SlabAllocator}. */
  public SlabPool(long maxFreeBytes, long mostSlabBytes, Memory memory) {
    this.slabs = new SlabAllocator(maxFreeBytes, mostSlabBytes);
    this.memory = memory;
  }

  /**
   * The address of {@code bytes} bytes, which the caller gives back.
   *
   * @param bytes more than 0
   * @throws RuntimeException what {@link Memory#exhausted} says, if not even this request alone can
   *     be had after everything unused was freed
   */
  public long take(long bytes) {
    OptionalLong address = slabs.allocate(bytes);
    if (address.isPresent()) {
      return address.getAsLong();
    }
    synchronized (growing) {
      // Another thread may have made a slab, or given back a range, in the meantime.
      address = slabs.allocate(bytes);
      return address.isPresent() ? address.getAsLong() : grow(bytes);
    }
  }

  /** Gives back what {@link #take} returned for as many bytes. */
  public void giveBack(long address, long bytes) {
    free(slabs.free(address, bytes));
  }

  /**
   * Makes a slab ahead of need, if with it no more than {@code bytes} bytes are in slabs.
   *
   * @return true if it made one that is kept
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

  /** A new slab's first range; a smaller slab if memory is short. */
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
          // What is left is a slab for this request alone.
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

  /** As {@link SlabAllocator#keepsMore}. */
  public void keepsMore(LongSupplier bytes, long most) {
    slabs.keepsMore(bytes, most);
  }

  /** Frees the slabs of which nothing is in use; returns how many bytes they were. */
  public long trim() {
    return free(slabs.trim());
  }

  /** As {@link #trim}, and from now on no slab is kept once nothing of it is in use. */
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
      } catch (RuntimeException e) { // the others can go
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

  /** Bytes taken and not given back, in whole pages. */
  public long liveBytes() {
    return slabs.liveBytes();
  }

  /** Bytes kept for the next request. */
  public long freeBytes() {
    return slabs.freeBytes();
  }
}
