package org.tilespark.spark.source.zarr;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.util.MemoryUtil;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.source.codec.ByteEncoder;
import org.tilespark.spark.source.codec.CodecMemory;
import sun.misc.Unsafe;

/**
 * Encodes chunks: the inverse of {@link LeafDecoder}. A chunk that extends beyond the array has the
 * fill value there. Used by one thread; owns its memory.
 */
final class LeafEncoder implements Closeable {
  /** The length of a chunk that is full of the fill value, and so is not stored. */
  static final int NOTHING = -1;

  private static final Unsafe MEMORY = HostMemory.unsafe();

  private final ChunkLayout.Leaf leaf;
  private final List<ByteEncoder> encoders;
  private final int width; // bytes of an element
  private final boolean leavesOutFill;
  private final byte[] fill; // fill value, repeated to fill two longs
  private final Transposer transposer; // borrowed
  private final CodecMemory memory; // owned

  LeafEncoder(
      WrittenArray written,
      ChunkLayout.Leaf leaf,
      BufferAllocator allocator,
      Transposer transposer) {
    this.leavesOutFill = written.array().fill().isStated();
    byte[] element = written.array().fill().element(written.array().type());
    this.leaf = leaf;
    this.encoders = written.encoders();
    this.width = element.length;
    this.fill = new byte[2 * Long.BYTES];
    for (int i = 0; i < fill.length; i += width) {
      System.arraycopy(element, 0, fill, i, width);
    }
    this.transposer = transposer;
    this.memory = new CodecMemory(allocator);
  }

  /** The scratch memory; the caller may use {@link CodecMemory.Use#STORED} of it. */
  CodecMemory memory() {
    return memory;
  }

  private int bytes() {
    return Math.toIntExact(leaf.shape().elements() * width);
  }

  /** The most bytes of a chunk as it is stored. */
  long mostEncoded() {
    long most = bytes();
    for (ByteEncoder encoder : encoders) {
      most = encoder.mostEncoded(most);
    }
    return most;
  }

  /**
   * Encodes one chunk.
   *
   * @param block elements of the array in its stored type, which include the chunk's
   * @param low the chunk's first element
   * @param high the end of the chunk's part that is in the array
   * @param out buffer that receives the bytes from its position on; its position moves
   * @return count of bytes, or {@link #NOTHING}
   */
  int encode(BoxCopy.Block block, long[] low, long[] high, ByteBuffer out) {
    HostMemory elements = elements(block, low, high);
    if (leavesOutFill && isFill(elements)) {
      return NOTHING;
    }
    ByteBuffer bytes =
        leaf.order().isIdentity()
            ? MemoryUtil.directBuffer(elements.offset(), bytes())
            : turned(elements);
    int start = out.position();
    for (int i = 0; i < encoders.size(); i++) {
      boolean isLast = i == encoders.size() - 1;
      CodecMemory.Use use = i % 2 == 0 ? CodecMemory.Use.BETWEEN : CodecMemory.Use.BETWEEN_OTHERS;
      ByteBuffer to =
          isLast ? out : memory.bytes(use, encoders.get(i).mostEncoded(bytes.remaining()));
      encoders.get(i).encode(bytes, to, memory);
      bytes = isLast ? bytes : to.flip();
    }
    if (encoders.isEmpty()) {
      out.put(bytes);
    }
    return out.position() - start;
  }

  /** The elements of the whole chunk, outside the heap: the block's own memory if possible. */
  private HostMemory elements(BoxCopy.Block block, long[] low, long[] high) {
    Shape shape = leaf.shape();
    boolean isWhole = true;
    for (int axis = 0; axis < low.length; axis++) {
      isWhole &= high[axis] - low[axis] == shape.extent(axis);
    }
    boolean isBlock =
        isWhole && Arrays.equals(low, block.low()) && Arrays.equals(shape.toArray(), block.size());
    if (isBlock && block.values().isOffHeap()) {
      return block.values();
    }
    ArrowBuf buffer = memory.buffer(CodecMemory.Use.ELEMENTS, bytes());
    HostMemory elements = Buffers.memory(buffer, 0, bytes());
    if (!isWhole) {
      putFill(elements);
    }
    BoxCopy.copy(block, new BoxCopy.Block(elements, low, shape.toArray()), low, high, width);
    return elements;
  }

  private ByteBuffer turned(HostMemory elements) {
    ByteBuffer turned = memory.bytes(CodecMemory.Use.TURNED, bytes());
    transposer.transpose(
        new TransposeProblem(leaf.shape(), leaf.order(), width),
        elements,
        HostMemory.ofAddress(HostMemory.ofDirectBuffer(turned).offset(), bytes()));
    return turned;
  }

  private long word(int index) {
    return MEMORY.getLong(fill, Unsafe.ARRAY_BYTE_BASE_OFFSET + (long) index * Long.BYTES);
  }

  private void putFill(HostMemory elements) {
    long bytes = elements.bytes();
    long done = Math.min(fill.length, bytes);
    HostMemory.ofArray(fill).slice(0, done).copyTo(elements.slice(0, done));
    while (done < bytes) { // doubles the filled bytes
      long more = Math.min(done, bytes - done);
      elements.slice(0, more).copyTo(elements.slice(done, more));
      done += more;
    }
  }

  private boolean isFill(HostMemory elements) {
    long even = word(0);
    long odd = word(1);
    long at = elements.offset();
    long bytes = elements.bytes();
    long done = 0;
    for (int i = 0; done + Long.BYTES <= bytes; done += Long.BYTES, i ^= 1) {
      if (MEMORY.getLong(at + done) != (i == 0 ? even : odd)) {
        return false;
      }
    }
    for (; done < bytes; done++) {
      if (MEMORY.getByte(at + done) != fill[(int) (done % fill.length)]) {
        return false;
      }
    }
    return true;
  }

  @Override
  public void close() {
    memory.close();
  }
}
