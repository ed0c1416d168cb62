package org.tilespark.arrow.memory;

import java.util.List;
import java.util.OptionalLong;
import org.tilespark.kernels.memory.FreeList;
import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Memory from the C heap, for executors without a GPU. It does not count against the JVM's limit
 * for direct buffers, which defaults to the heap's size.
 *
 * <p>Large blocks are kept for reuse up to a bound: the operating system hands out such memory page
 * by page at first touch, which costs more than the work done in it when many threads do so at
 * once.
 */
public final class NativeMemorySource implements HostMemorySource, AutoCloseable {
  /** Cache lines of the host, and the alignment Arrow recommends. */
  private static final long ALIGNMENT_BYTES = 64;

  /** From here on the C library takes memory from the operating system for each request. */
  private static final long LEAST_KEPT_BYTES = 128 << 10;

  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final FreeList free;

  /**
   * A source that keeps at most {@code maxKeptBytes} bytes for reuse.
   *
   * @throws IllegalArgumentException if that is negative
   */
  public NativeMemorySource(long maxKeptBytes) {
    this.free = new FreeList(maxKeptBytes);
  }

  @Override
  public Allocation allocate(long bytes) {
    boolean kept = bytes >= LEAST_KEPT_BYTES;
    long classBytes = kept ? FreeList.sizeClass(bytes) : bytes;
    OptionalLong reused = kept ? free.take(classBytes) : OptionalLong.empty();
    long raw = reused.isPresent() ? reused.getAsLong() : malloc(classBytes);
    long aligned = (raw + ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
    return new Allocation() {
      @Override
      public long address() {
        return aligned;
      }

      @Override
      public void free() {
        if (!kept || !free.offer(raw, classBytes)) {
          UNSAFE.freeMemory(raw);
        }
      }
    };
  }

  @Override
  public boolean isPinned() {
    return false;
  }

  /** Bytes kept for the next request. */
  public long keptBytes() {
    return free.cachedBytes();
  }

  /** Frees what is kept; what is still handed out is freed when it comes back. */
  @Override
  public void close() {
    release(free.shut());
  }

  private long malloc(long bytes) {
    try {
      return UNSAFE.allocateMemory(bytes + ALIGNMENT_BYTES);
    } catch (OutOfMemoryError first) {
      release(free.drain());
    }
    try {
      return UNSAFE.allocateMemory(bytes + ALIGNMENT_BYTES);
    } catch (OutOfMemoryError e) {
      // It is not the cause: Spark ends an executor, or in local mode the application, that meets
      // an
      // OutOfMemoryError anywhere among the causes.
      throw new OutOfHostMemoryException(
          "The operating system refused "
              + bytes
              + " bytes of memory outside the Java heap, also after what was kept for reuse had been"
              + " freed; lower the batch size or the number of tasks per executor, or give the"
              + " executor more spark.executor.memoryOverhead");
    }
  }

  private static void release(List<FreeList.Block> blocks) {
    blocks.forEach(block -> UNSAFE.freeMemory(block.address()));
  }
}
