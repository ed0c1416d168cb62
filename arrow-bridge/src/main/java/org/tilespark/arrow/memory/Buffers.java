package org.tilespark.arrow.memory;

import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.kernels.memory.HostMemory;

/** Several buffers that are made together, and the memory of buffers. */
public final class Buffers {
  private Buffers() {}

  /** {@code count} buffers of {@code bytes} bytes, or none at all if one cannot be had. */
  public static List<ArrowBuf> allocate(BufferAllocator allocator, int count, long bytes) {
    return TaskScope.opening(
        scope ->
            IntStream.range(0, count).mapToObj(i -> scope.own(allocator.buffer(bytes))).toList());
  }

  /**
   * The memory of a range of a buffer; valid while the buffer is alive.
   *
   * @throws IndexOutOfBoundsException if the buffer is shorter
   */
  public static HostMemory memory(ArrowBuf buffer, long start, long bytes) {
    Objects.checkFromIndexSize(start, bytes, buffer.capacity());
    assert bytes == 0 || buffer.refCnt() > 0 : "released: " + buffer;
    return HostMemory.ofAddress(buffer.memoryAddress() + start, bytes);
  }
}
