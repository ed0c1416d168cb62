package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.RowBytes;

/**
 * Writes rows that hold one array of numbers and small columns, one at a time or several in a
 * {@link PendingRowMemory}: the small columns as Spark's own projection writes them, then the
 * array, whose elements the caller writes directly.
 */
public final class ArrayRowWriter {
  private static final int WORD_BYTES = 8;

  private final int columns;
  private final int arrayOrdinal;
  private final ElementType type;
  private final UnsafeRow row;
  private final RowAllocator allocator;

  /**
   * @param columns number of columns of the row
   * @param arrayOrdinal ordinal of the array's column
   */
  public ArrayRowWriter(int columns, int arrayOrdinal, ElementType type) {
    this(columns, arrayOrdinal, type, new SingleRowAllocator());
  }

  /** A writer of rows in {@code memory}, which is borrowed. */
  public ArrayRowWriter(int columns, int arrayOrdinal, ElementType type, PendingRowMemory memory) {
    this(columns, arrayOrdinal, type, (RowAllocator) memory);
  }

  private ArrayRowWriter(int columns, int arrayOrdinal, ElementType type, RowAllocator allocator) {
    this.allocator = allocator;
    this.columns = columns;
    this.arrayOrdinal = arrayOrdinal;
    this.type = type;
    this.row = new UnsafeRow(columns);
  }

  /**
   * Begins a row.
   *
   * @param head a row of the same columns, with null in place of the array
   * @param elements number of elements of the array
   * @return memory for the elements, with undefined content
   * @throws IllegalArgumentException if the row would exceed what Spark allows
   */
  public HostMemory start(UnsafeRow head, long elements) {
    int headBytes = head.getSizeInBytes();
    long size = headBytes + RowBytes.array(elements, type.bytes());
    if (size > Integer.MAX_VALUE - WORD_BYTES) {
      throw new IllegalArgumentException(
          "A row of " + size + " bytes exceeds Spark's 2 GiB; use smaller blocks");
    }
    allocator.begin(row, (int) size, true);
    Object bytes = row.getBaseObject();
    long first = row.getBaseOffset();
    Platform.copyMemory(head.getBaseObject(), head.getBaseOffset(), bytes, first, headBytes);
    row.setNotNullAt(arrayOrdinal);
    long field =
        first + UnsafeRow.calculateBitSetWidthInBytes(columns) + (long) arrayOrdinal * WORD_BYTES;
    Platform.putLong(bytes, field, ((long) headBytes << 32) | (size - headBytes));
    long header = UnsafeArrayData.calculateHeaderPortionInBytes(elements);
    long start = first + headBytes;
    Platform.setMemory(bytes, start, header, (byte) 0);
    Platform.putLong(bytes, start, elements);
    long valueBytes = elements * type.bytes();
    for (long pad = header + valueBytes; pad < size - headBytes; pad++) {
      Platform.putByte(bytes, start + pad, (byte) 0);
    }
    return new HostMemory(bytes, start + header, valueBytes);
  }

  /** The row begun last; its small columns may be set. Valid until the next {@link #start}. */
  public UnsafeRow row() {
    return row;
  }
}
