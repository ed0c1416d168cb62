package org.tilespark.arrow.memory;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.kernels.memory.HostMemory;

/** A buffer that is replaced when a larger one is needed; its content is then lost. */
public final class GrowingBuffer implements AutoCloseable {
  private final BufferAllocator allocator;
  private ArrowBuf buffer; // null until needed

  /** No buffer yet; borrows the allocator. */
  public GrowingBuffer(BufferAllocator allocator) {
    this.allocator = allocator;
  }

  /** The buffer's first {@code bytes} bytes; valid until more are requested, or this is closed. */
  public HostMemory memory(long bytes) {
    if (buffer == null || buffer.capacity() < bytes) {
      close();
      buffer = allocator.buffer(bytes);
    }
    return Buffers.memory(buffer, 0, bytes);
  }

  @Override
  public void close() {
    if (buffer != null) {
      buffer.close();
      buffer = null;
    }
  }
}
