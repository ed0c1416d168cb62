package org.tilespark.spark.source.codec;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;

/**
 * Scratch memory outside the heap, kept from chunk to chunk. Used by one thread; owns its buffers
 * until {@link #close()}.
 */
public final class CodecMemory implements Closeable {
  /** The uses of memory; each has one buffer. */
  public enum Use {
    /** Bytes as they are stored. */
    STORED,
    /** Bytes between two codecs. */
    BETWEEN,
    /** Bytes between two codecs, in turn with {@link #BETWEEN}. */
    BETWEEN_OTHERS,
    /** Elements of a whole chunk before a transpose. */
    ELEMENTS,
    /** Elements of a whole chunk after a transpose, if it needs one. */
    TURNED,
    /** The shuffled bytes of one block of Blosc. */
    SHUFFLED,
    /**
     * One block of Blosc between the two steps of unshuffling bits; while encoding, its compressed
     * bytes.
     */
    PLANES
  }

  private final BufferAllocator allocator; // borrowed
  private final Map<Use, ArrowBuf> buffers = new EnumMap<>(Use.class); // owned

  /**
   * Memory without any buffer yet.
   *
   * @param allocator allocator of the buffers; borrowed
   */
  public CodecMemory(BufferAllocator allocator) {
    this.allocator = allocator;
  }

  /** The buffer of a use, of at least {@code bytes} bytes; its content is lost if it must grow. */
  public ArrowBuf buffer(Use use, long bytes) {
    ArrowBuf buffer = buffers.get(use);
    if (buffer == null || buffer.capacity() < bytes) {
      if (buffer != null) {
        buffers.remove(use).close();
      }
      buffer = allocator.buffer(Math.max(1, bytes));
      buffers.put(use, buffer);
    }
    return buffer;
  }

  /** The first {@code bytes} bytes of {@link #buffer}. */
  public ByteBuffer bytes(Use use, long bytes) {
    return buffer(use, bytes).nioBuffer(0, Math.toIntExact(bytes));
  }

  @Override
  public void close() {
    buffers.values().forEach(ArrowBuf::close);
    buffers.clear();
  }
}
