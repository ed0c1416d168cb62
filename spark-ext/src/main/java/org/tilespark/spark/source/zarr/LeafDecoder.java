package org.tilespark.spark.source.zarr;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyDecoder;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.source.codec.ByteCodec;
import org.tilespark.spark.source.codec.Checksum;
import org.tilespark.spark.source.codec.CodecMemory;

/**
 * Decodes chunks: bytes as they are stored become elements in the array's order and the machine's
 * byte order. Keeps the last decoded chunks if blocks cut chunks. Used by one thread; owns its
 * memory.
 */
final class LeafDecoder implements Closeable {
  /** The most bytes of chunks that are kept, except for a single larger one. */
  private static final long KEPT_BYTES = 64L << 20;

  private final NpyType type;
  private final boolean keeps;
  private final BufferAllocator allocator; // borrowed
  private final Transposer transposer; // borrowed
  private final CodecMemory memory; // owned
  private final Map<String, ArrowBuf> kept = new LinkedHashMap<>(16, 0.75f, true); // owned
  private long keptBytes;

  LeafDecoder(NpyType type, boolean keeps, BufferAllocator allocator, Transposer transposer) {
    this.type = type;
    this.keeps = keeps;
    this.allocator = allocator;
    this.transposer = transposer;
    this.memory = new CodecMemory(allocator);
  }

  /** The scratch memory; the caller may use {@link CodecMemory.Use#STORED} of it. */
  CodecMemory memory() {
    return memory;
  }

  /** Bytes of the elements of a chunk. */
  private int bytes(Shape chunk) {
    return Math.toIntExact(chunk.elements() * type.elementBytes());
  }

  /**
   * Checks the stored length of a chunk before memory is allocated for it.
   *
   * @throws IllegalArgumentException if its codecs cannot give that many bytes
   */
  void requireLength(ChunkLayout.Leaf leaf, long length) {
    long bytes = bytes(leaf.shape());
    long most = mostEncoded(bytes, leaf.codecs().size());
    if (length > most || (leaf.codecs().isEmpty() && length != bytes)) {
      throw new IllegalArgumentException(
          "%s bytes of a chunk of %s bytes; expected %s%s"
              .formatted(length, bytes, leaf.codecs().isEmpty() ? "" : "at most ", most));
    }
  }

  private static long mostEncoded(long bytes, int codecs) {
    long most = bytes;
    for (int i = 0; i < codecs; i++) {
      most = Math.min(Integer.MAX_VALUE, ByteCodec.mostEncoded(most));
    }
    return most;
  }

  /** The elements of a chunk that was decoded lately, row-major; null if it is not kept. */
  HostMemory kept(String key, ChunkLayout.Leaf leaf) {
    ArrowBuf buffer = kept.get(key);
    return buffer == null ? null : Buffers.memory(buffer, 0, bytes(leaf.shape()));
  }

  /**
   * Decodes a chunk into memory that has its shape.
   *
   * @param out receives the elements, row-major; may be the block's own memory
   * @throws IllegalArgumentException if the bytes are not those of a chunk of this layout
   */
  void decode(ChunkLayout.Leaf leaf, ByteBuffer stored, ByteBuffer out) {
    boolean turns = !leaf.order().isIdentity();
    ByteBuffer inOrder = turns ? memory.bytes(CodecMemory.Use.ELEMENTS, out.remaining()) : out;
    long address = HostMemory.ofDirectBuffer(inOrder).offset();
    int bytes = bytes(leaf.shape());
    run(leaf.codecs(), stored, inOrder);
    if (leaf.bigEndian()) {
      NpyDecoder.swapBytes(address, bytes / type.partBytes(), type.partBytes());
    }
    if (turns) {
      TransposeProblem problem =
          new TransposeProblem(
              leaf.order().apply(leaf.shape()), leaf.order().inverse(), type.elementBytes());
      transposer.transpose(
          problem,
          HostMemory.ofAddress(address, bytes),
          HostMemory.ofAddress(HostMemory.ofDirectBuffer(out).offset(), bytes));
    }
  }

  /**
   * Decodes a chunk into memory of this decoder, valid until the next call.
   *
   * @param key the chunk's name, for {@link #kept}
   */
  HostMemory decode(ChunkLayout.Leaf leaf, ByteBuffer stored, String key) {
    int bytes = bytes(leaf.shape());
    if (!keeps) {
      ArrowBuf buffer = memory.buffer(CodecMemory.Use.TURNED, bytes);
      decode(leaf, stored, buffer.nioBuffer(0, bytes));
      return Buffers.memory(buffer, 0, bytes);
    }
    var oldest = kept.entrySet().iterator();
    while (keptBytes + bytes > KEPT_BYTES && oldest.hasNext()) {
      ArrowBuf dropped = oldest.next().getValue();
      oldest.remove();
      keptBytes -= dropped.capacity();
      dropped.close();
    }
    ArrowBuf buffer = allocator.buffer(bytes);
    try {
      decode(leaf, stored, buffer.nioBuffer(0, bytes));
    } catch (Throwable t) {
      buffer.close();
      throw t;
    }
    keptBytes += buffer.capacity();
    kept.put(key, buffer);
    return Buffers.memory(buffer, 0, bytes);
  }

  /** Undoes the codecs, the last one first. */
  private void run(List<ByteCodec> codecs, ByteBuffer stored, ByteBuffer out) {
    int expected = out.remaining();
    ByteBuffer bytes = stored;
    for (int i = codecs.size() - 1; i > 0; i--) {
      if (codecs.get(i) == ByteCodec.CRC32C) {
        bytes = Checksum.verify(bytes);
        continue;
      }
      CodecMemory.Use use = i % 2 == 0 ? CodecMemory.Use.BETWEEN : CodecMemory.Use.BETWEEN_OTHERS;
      ByteBuffer between = memory.bytes(use, mostEncoded(expected, i));
      codecs.get(i).decode(bytes, between, memory);
      bytes = between.flip();
    }
    if (!codecs.isEmpty()) {
      codecs.get(0).decode(bytes, out, memory);
    } else {
      out.put(bytes);
    }
    if (out.hasRemaining()) {
      throw new IllegalArgumentException(
          "the chunk decodes to %s bytes; expected %s"
              .formatted(expected - out.remaining(), expected));
    }
  }

  @Override
  public void close() {
    memory.close();
    kept.values().forEach(ArrowBuf::close);
    kept.clear();
  }
}
