package org.tilespark.arrow.store;

import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.arrow.memory.Uses;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Memory outside the heap for the {@link RowImage}s of one cached partition. One thread fills it,
 * then several may read. It is freed when its creator and all other users have released it.
 */
public final class ImageMemory {
  private final Arena arena;
  private final Uses uses;

  /** An empty memory; borrows source and budget. */
  public ImageMemory(HostMemorySource source, StoreBudget budget) {
    this.arena = new Arena(source, budget);
    this.uses = new Uses("Memory of images", arena::close);
  }

  /**
   * Allocates room for an image and writes the image's header.
   *
   * @return the address of the row's first byte; 0 if the budget or the machine has no room
   */
  public long room(long bytes, int fields) {
    long header = RowImage.header(bytes, fields);
    long address = arena.allocate(RowImage.HEADER_BYTES + bytes);
    if (address == 0) {
      return 0;
    }
    HostMemory.unsafe().putLong(address, header);
    return address + RowImage.HEADER_BYTES;
  }

  /** Bytes of memory that this object holds. */
  public long heldBytes() {
    return arena.heldBytes();
  }

  /** The address of the first byte; 0 if the memory is empty. */
  public long address() {
    return arena.address();
  }

  /** True if a device can copy directly from all of the memory. Called after it is filled. */
  public boolean isPinned() {
    return arena.isPinned();
  }

  /** Adds a user of the memory, who must {@link #release} it; false if it has been freed. */
  public boolean retain() {
    return uses.retain();
  }

  /**
   * Adds a use of the memory; running the result ends that use. The creator must not have released
   * it.
   */
  public Runnable held() {
    if (!retain()) {
      throw new IllegalStateException("The memory of images has been freed");
    }
    return this::release;
  }

  /** Ends one use; the end of the last one frees the memory. */
  public void release() {
    uses.release();
  }
}
