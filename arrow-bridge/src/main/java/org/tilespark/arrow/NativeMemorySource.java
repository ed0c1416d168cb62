package org.tilespark.arrow;

import org.tilespark.kernels.HostMemory;
import sun.misc.Unsafe;

/**
 * Memory from the C heap, for executors without a GPU. Large allocations come straight from the
 * operating system and go back to it when freed, and they do not count against the JVM's limit for
 * direct buffers, which defaults to the heap's size.
 */
public final class NativeMemorySource implements HostMemorySource {
  /** Cache lines of the host, and the alignment Arrow recommends. */
  private static final long ALIGNMENT_BYTES = 64;

  private static final Unsafe UNSAFE = HostMemory.unsafe();

  @Override
  public Allocation allocate(long bytes) {
    long raw;
    try {
      raw = UNSAFE.allocateMemory(bytes + ALIGNMENT_BYTES);
    } catch (OutOfMemoryError e) {
      throw new OutOfHostMemoryException(
          "The operating system refused "
              + bytes
              + " bytes of memory outside the Java heap; lower"
              + " the batch size or the number of tasks per executor, or give the executor more"
              + " spark.executor.memoryOverhead",
          e);
    }
    long aligned = (raw + ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
    return new Allocation() {
      @Override
      public long address() {
        return aligned;
      }

      @Override
      public void free() {
        UNSAFE.freeMemory(raw);
      }
    };
  }

  @Override
  public boolean isPinned() {
    return false;
  }
}
