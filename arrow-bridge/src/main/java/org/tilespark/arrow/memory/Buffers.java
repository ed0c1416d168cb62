package org.tilespark.arrow.memory;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.kernels.memory.HostMemory;

/** Allocates several buffers together, and gives access to the memory of a buffer. */
public final class Buffers {
  private Buffers() {}

  /**
   * Allocates {@code count} buffers of {@code bytes} bytes each; if one fails, the others are
   * freed.
   */
  public static List<ArrowBuf> allocate(BufferAllocator allocator, int count, long bytes) {
    ArrowBuf[] buffers = new ArrowBuf[count];
    try {
      for (int i = 0; i < count; i++) {
        buffers[i] = allocator.buffer(bytes);
      }
      return List.of(buffers);
    } catch (Throwable t) {
      Closing.all(Arrays.stream(buffers).filter(Objects::nonNull).toList());
      throw t;
    }
  }

  /**
   * The memory of a range of a buffer; valid while the buffer is alive.
   *
   * @throws IndexOutOfBoundsException if the range exceeds the buffer
   */
  public static HostMemory memory(ArrowBuf buffer, long start, long bytes) {
    Objects.checkFromIndexSize(start, bytes, buffer.capacity());
    assert bytes == 0 || buffer.refCnt() > 0 : "released: " + buffer;
    return HostMemory.ofAddress(buffer.memoryAddress() + start, bytes);
  }
}
