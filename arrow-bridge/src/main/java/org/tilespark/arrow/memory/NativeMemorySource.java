package org.tilespark.arrow.memory;

import java.util.function.LongSupplier;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.memory.HugePageMemory;
import org.tilespark.kernels.memory.SlabPool;
import sun.misc.Unsafe;

/**
 * Plain memory, for executors without a GPU. It does not count against the JVM's limit for direct
 * buffers, which defaults to the heap's size.
 *
 * <p>Large requests come from slabs on huge pages, which are kept for reuse up to a bound: the
 * operating system provides memory page by page at first touch, and if many threads do that at once
 * it takes longer than the work on the memory.
 */
public final class NativeMemorySource implements HostMemorySource, AutoCloseable {
  /** Bytes of a cache line, and the alignment that Arrow recommends for buffers. */
  private static final long ALIGNMENT_BYTES = 64;

  /** Least bytes that come from slabs; fewer come from the C library. */
  private static final long LEAST_LARGE_BYTES = 128 << 10;

  private static final long MOST_SLAB_BYTES = 64 << 20;

  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final SlabPool slabs;

  /**
   * A source that keeps at most {@code maxKeptBytes} bytes for reuse.
   *
   * @throws IllegalArgumentException if {@code maxKeptBytes} is negative
   */
  public NativeMemorySource(long maxKeptBytes) {
    this.slabs = new SlabPool(maxKeptBytes, MOST_SLAB_BYTES, new Slabs());
  }

  @Override
  public Allocation allocate(long bytes) {
    return bytes < LEAST_LARGE_BYTES ? small(bytes) : large(bytes);
  }

  private static Allocation small(long bytes) {
    long raw;
    try {
      raw = UNSAFE.allocateMemory(bytes + ALIGNMENT_BYTES);
    } catch (OutOfMemoryError e) {
      throw refused(bytes);
    }
    return allocation(aligned(raw, ALIGNMENT_BYTES), () -> UNSAFE.freeMemory(raw));
  }

  private Allocation large(long bytes) {
    long address = slabs.take(bytes);
    return allocation(address, () -> slabs.giveBack(address, bytes));
  }

  private static Allocation allocation(long address, Runnable freeing) {
    return new Allocation() {
      @Override
      public long address() {
        return address;
      }

      @Override
      public void free() {
        freeing.run();
      }
    };
  }

  private static long aligned(long address, long alignment) {
    return (address + alignment - 1) & -alignment;
  }

  // No cause is given, on purpose: Spark ends an executor, or in local mode the application, if an
  // OutOfMemoryError is among the causes of an exception.
  private static OutOfHostMemoryException refused(long bytes) {
    return new OutOfHostMemoryException(
        ("The operating system refused %s bytes of memory outside the Java heap, also"
                + " after what was kept for reuse had been freed; lower the batch size or the"
                + " number of tasks per executor, or give the executor more"
                + " spark.executor.memoryOverhead")
            .formatted(bytes));
  }

  /** Slabs on huge pages. */
  private static final class Slabs implements SlabPool.Memory {
    private final HugePageMemory pages = new HugePageMemory();

    @Override
    public long make(long bytes) {
      return pages.take(bytes).orElseThrow(() -> refused(bytes));
    }

    @Override
    public void free(long address, long bytes) {
      pages.free(address);
    }

    @Override
    public RuntimeException exhausted(ResourceException refusal, long bytes, long freedBytes) {
      return refused(bytes);
    }
  }

  @Override
  public boolean isPinned() {
    return false;
  }

  /**
   * Each time an allocation is freed, keeps {@code bytes} further bytes for reuse, up to {@code
   * most}.
   */
  public void keepsMore(LongSupplier bytes, long most) {
    slabs.keepsMore(bytes, most);
  }

  /** Unused bytes that are kept for later requests. */
  public long keptBytes() {
    return slabs.freeBytes();
  }

  /** Frees the memory that is kept; memory still in use is freed when it is returned. */
  @Override
  public void close() {
    slabs.shut();
  }
}
