package org.tilespark.spark.source.zarr;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.arrow.memory.ArrowBuf;
import org.tilespark.arrow.memory.Buffers;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.numpy.NpyDecoder;
import org.tilespark.spark.numpy.NpyType;
import sun.misc.Unsafe;

/**
 * The memory of one block, into which chunks are copied. Places are in elements of the array, along
 * all of its axes. Used by one thread; owns nothing.
 */
final class BlockTarget {
  private final NpyType type;
  private final ElementType columnType;
  private final long[] low;
  private final long[] size;
  private final Column values; // null if the query does not read it
  private final Column imag; // null if it is not needed or does not exist

  /**
   * A block's column in memory.
   *
   * @param buffer memory of the column; borrowed
   * @param at index of the column's first byte in the buffer
   */
  record Column(ArrowBuf buffer, long at) {
    HostMemory memory(long bytes) {
      return Buffers.memory(buffer, at, bytes);
    }
  }

  BlockTarget(
      NpyType type, ElementType columnType, long[] low, long[] size, Column values, Column imag) {
    this.type = type;
    this.columnType = columnType;
    this.low = low;
    this.size = size;
    this.values = values;
    this.imag = imag;
  }

  private long elements() {
    return Shape.of(size).elements();
  }

  /** True if a chunk's decoded bytes are those of this block, except for the byte order. */
  boolean isChunk(long[] chunkLow, Shape chunk) {
    return NpyDecoder.isCopy(type, columnType)
        && Arrays.equals(low, chunkLow)
        && Arrays.equals(size, chunk.toArray());
  }

  /** The memory of the block's column {@code values}. */
  ByteBuffer bytes() {
    return values.buffer.nioBuffer(values.at, Math.toIntExact(elements() * columnType.bytes()));
  }

  /**
   * Puts a part of a chunk in its place.
   *
   * @param elements all elements of the chunk, row-major
   * @param chunkLow the chunk's first element
   * @param partLow first element of the part, which is in both chunk and block
   * @param partHigh the element after the part's last one along each axis
   */
  void put(HostMemory elements, long[] chunkLow, Shape chunk, long[] partLow, long[] partHigh) {
    int width = columnType.bytes();
    if (NpyDecoder.isCopy(type, columnType)) {
      BoxCopy.copy(
          new BoxCopy.Block(elements, chunkLow, chunk.toArray()),
          new BoxCopy.Block(values.memory(elements() * width), low, size),
          partLow,
          partHigh,
          width);
      return;
    }
    long bytes = type.elementBytes();
    runs(
        chunkLow,
        chunk.toArray(),
        partLow,
        partHigh,
        (from, to, count) -> {
          HostMemory run = elements.slice(from * bytes, count * bytes);
          if (values != null) {
            decode(run, 0, values, to, count);
          }
          if (imag != null) {
            decode(run, 1, imag, to, count);
          }
        });
  }

  private void decode(HostMemory run, int part, Column column, long to, long count) {
    int width = columnType.bytes();
    HostMemory numbers = column.memory(elements() * width).slice(to * width, count * width);
    NpyDecoder.decode(type, columnType, run, part, numbers);
  }

  /** Puts the fill value into all places of a part. */
  void fill(FillValue fill, long[] partLow, long[] partHigh) {
    HostMemory stored = HostMemory.ofArray(fill.element(type));
    for (int part = 0; part < type.parts(); part++) {
      Column column = part == 0 ? values : imag;
      if (column != null) {
        byte[] number = new byte[Long.BYTES];
        HostMemory decoded = HostMemory.ofArray(number).slice(0, columnType.bytes());
        NpyDecoder.decode(type, columnType, stored, part, decoded);
        long bits = ByteBuffer.wrap(number).order(ByteOrder.LITTLE_ENDIAN).getLong();
        HostMemory all = column.memory(elements() * columnType.bytes());
        runs(low, size, partLow, partHigh, (from, to, count) -> repeat(bits, all, to, count));
      }
    }
  }

  private void repeat(long bits, HostMemory all, long to, long count) {
    int width = columnType.bytes();
    HostMemory run = all.slice(to * width, count * width);
    Unsafe memory = HostMemory.unsafe();
    for (long i = 0; i < count; i++) {
      long at = run.offset() + i * width;
      switch (width) {
        case 1 -> memory.putByte(at, (byte) bits);
        case 2 -> memory.putShort(at, (short) bits);
        case 4 -> memory.putInt(at, (int) bits);
        default -> memory.putLong(at, bits);
      }
    }
  }

  /**
   * Takes {@code count} elements that are contiguous in two dense arrays, from these indices on.
   */
  @FunctionalInterface
  private interface Run {
    void take(long from, long to, long count);
  }

  /**
   * Visits the runs of a part that are contiguous both in this block and in a dense array of the
   * shape {@code fromSize} with the first element {@code fromLow}.
   */
  private void runs(long[] fromLow, long[] fromSize, long[] partLow, long[] partHigh, Run run) {
    int rank = low.length;
    long[] fromStride = new long[rank];
    long[] toStride = new long[rank];
    long from = 0;
    long to = 0;
    long fromElements = 1;
    long toElements = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
      fromStride[axis] = fromElements;
      toStride[axis] = toElements;
      from += (partLow[axis] - fromLow[axis]) * fromElements;
      to += (partLow[axis] - low[axis]) * toElements;
      fromElements *= fromSize[axis];
      toElements *= size[axis];
    }
    int outer = rank;
    long count = 1;
    while (outer > 0 && fromStride[outer - 1] == count && toStride[outer - 1] == count) {
      outer--;
      count *= partHigh[outer] - partLow[outer];
    }
    long[] place = new long[outer];
    while (true) {
      run.take(from, to, count);
      int axis = outer - 1;
      while (axis >= 0 && ++place[axis] == partHigh[axis] - partLow[axis]) {
        from -= (place[axis] - 1) * fromStride[axis];
        to -= (place[axis] - 1) * toStride[axis];
        place[axis] = 0;
        axis--;
      }
      if (axis < 0) {
        return;
      }
      from += fromStride[axis];
      to += toStride[axis];
    }
  }
}
