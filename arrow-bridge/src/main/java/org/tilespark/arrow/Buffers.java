package org.tilespark.arrow;

import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/** Several buffers that are made and closed together. */
final class Buffers {
  private Buffers() {}

  /** {@code count} buffers of {@code bytes} bytes, or none at all if one cannot be had. */
  static List<ArrowBuf> allocate(BufferAllocator allocator, int count, long bytes) {
    List<ArrowBuf> buffers = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        buffers.add(allocator.buffer(bytes));
      }
      return buffers;
    } catch (Throwable t) {
      close(buffers);
      throw t;
    }
  }

  static void close(List<ArrowBuf> buffers) {
    buffers.forEach(ArrowBuf::close);
  }
}
