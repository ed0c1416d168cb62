package org.tilespark.spark.vectors;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.RowBytes;

/**
 * Writes the row of a block whose number of vectors is known only at the end. Vectors are written
 * to a fixed place of one array; the part of the row before them, whose length depends on their
 * number, is written at the end, directly before them:
 *
 * <pre>
 *   room | fixed columns | count and null bits | vectors | ids
 *          ^ the row begins here                 ^ always at the same place
 * </pre>
 *
 * <p>A row is valid until the next vector is written.
 */
final class StripWriter {
  private static final int WORD_BYTES = 8;
  private static final int ROW = 0;
  private static final int COL = 1;
  private static final int ROWS = 2;
  private static final int COLS = 3;
  private static final int VALUES = 4;
  private static final int IDS = 5;

  private final int length;
  private final int elementBytes;
  private final boolean hasIds;
  private final UnsafeRow row;
  private final int vectorsAt; // index of the first vector's first byte
  private byte[] bytes;

  /**
   * @param length elements of a vector
   * @param most most vectors of a block
   */
  StripWriter(int length, int elementBytes, int most, boolean hasIds) {
    this.length = length;
    this.elementBytes = elementBytes;
    this.hasIds = hasIds;
    this.row = new UnsafeRow(hasIds ? IDS + 1 : IDS);
    long elements = (long) most * length;
    this.vectorsAt =
        Math.toIntExact(fixedBytes() + UnsafeArrayData.calculateHeaderPortionInBytes(elements));
    this.bytes =
        new byte
            [Math.toIntExact(
                vectorsAt + padded(elements * elementBytes) + (hasIds ? idRoom(most) : 0))];
  }

  /** Bytes of a block's row without ids. */
  static long rowBytes(long rows, int length, int elementBytes) {
    return new RowBytes(IDS, 1, elementBytes).applyAsLong(rows * length);
  }

  /**
   * Bytes of the room for ids: enough for ids of fixed width; longer ones make the array grow once.
   */
  private static long idRoom(int most) {
    return RowBytes.array(most, WORD_BYTES) + WORD_BYTES;
  }

  private int fixedBytes() {
    return WORD_BYTES * (1 + row.numFields());
  }

  private static long padded(long size) {
    return (size + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
  }

  /** The memory for the vector at {@code index}. */
  HostMemory vector(int index) {
    long size = (long) length * elementBytes;
    return new HostMemory(bytes, Platform.BYTE_ARRAY_OFFSET + vectorsAt + index * size, size);
  }

  /**
   * Ends the block.
   *
   * @param place place of the block's first row
   * @param rows number of vectors that were written
   * @param ids ids of the rows, one for each; null if there are none
   */
  UnsafeRow finish(long place, int rows, UnsafeArrayData ids) {
    long elements = (long) rows * length;
    int header = UnsafeArrayData.calculateHeaderPortionInBytes((int) elements);
    int valuesAt = vectorsAt - header;
    int start = valuesAt - fixedBytes();
    int end = Math.toIntExact(vectorsAt + padded(elements * elementBytes));
    int size = Math.addExact(end, hasIds ? ids.getSizeInBytes() : 0) - start;
    if (start + size > bytes.length) {
      bytes = Arrays.copyOf(bytes, start + size);
    }
    Arrays.fill(bytes, start, vectorsAt, (byte) 0);
    Arrays.fill(bytes, Math.toIntExact(vectorsAt + elements * elementBytes), end, (byte) 0);
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + (long) valuesAt, elements);
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + (long) start, size);
    row.setLong(ROW, place);
    row.setLong(COL, 0);
    row.setInt(ROWS, rows);
    row.setInt(COLS, length);
    setArray(VALUES, start, valuesAt, end - valuesAt);
    if (hasIds) {
      Platform.copyMemory(
          ids.getBaseObject(),
          ids.getBaseOffset(),
          bytes,
          Platform.BYTE_ARRAY_OFFSET + (long) end,
          ids.getSizeInBytes());
      setArray(IDS, start, end, ids.getSizeInBytes());
    }
    return row;
  }

  private void setArray(int ordinal, int start, int at, int size) {
    row.setLong(ordinal, ((long) (at - start) << 32) | size);
  }
}
