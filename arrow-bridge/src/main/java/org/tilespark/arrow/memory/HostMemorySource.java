package org.tilespark.arrow.memory;

/**
 * The source of memory for the buffers of an {@link ArrowMemory}: the C heap, or a pool of pinned
 * memory. Thread-safe.
 */
public interface HostMemorySource {
  /** One allocation, with one owner. */
  interface Allocation {
    /** Address of the first byte, at least 64-byte aligned. */
    long address();

    /** Gives the memory back; called exactly once. */
    void free();

    /** True if a device can copy from and to this allocation directly. */
    default boolean isPinned() {
      return false;
    }
  }

  /**
   * Allocates {@code bytes} bytes of uninitialised memory outside the heap.
   *
   * @throws RuntimeException if there is not enough memory; the message says what was asked for
   */
  Allocation allocate(long bytes);

  /** True if a device can copy from and to this source's memory directly. */
  boolean isPinned();

  /**
   * True if all of a range is in this source's memory, and a device can copy from and to it
   * directly.
   */
  default boolean pins(long address, long bytes) {
    return false;
  }
}
