package org.tilespark.spark.rows;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.RowBytes;
import org.tilespark.spark.catalyst.RowProjections;

/**
 * Makes rows of blocks, each in memory from a {@link RowAllocator}: the small columns as Spark's
 * own projection writes them, then room for the value arrays, which the caller fills in bulk.
 *
 * <p>A row is valid until the next one is begun.
 */
public final class BlockRowBuilder {
  private static final int WORD_BYTES = 8;

  private final BlockSchema blocks;
  private final UnsafeProjection head;
  private final UnsafeRow row;
  private final int columns;
  private final int elementBytes;
  private final HostMemory[] planes;
  private UnsafeRow cells;
  private boolean isFinal = true;
  private final RowAllocator allocator;

  /**
   * A builder of rows of one schema.
   *
   * @param schema schema of the rows
   * @param blocks ordinals of the block columns in the schema
   * @param keys ordinals of other columns of numbers, which the caller sets
   * @param carried gives the expression of each remaining column, by its ordinal, over the row of
   *     {@link #carry}
   */
  public BlockRowBuilder(
      StructType schema, BlockSchema blocks, int[] keys, IntFunction<Expression> carried) {
    this(schema, blocks, keys, carried, new SingleRowAllocator());
  }

  /** A builder of rows in memory of {@code allocator}. */
  BlockRowBuilder(
      StructType schema,
      BlockSchema blocks,
      int[] keys,
      IntFunction<Expression> carried,
      RowAllocator allocator) {
    this.allocator = allocator;
    this.blocks = blocks;
    this.columns = schema.length();
    this.row = new UnsafeRow(columns);
    this.elementBytes = blocks.elementType().bytes();
    this.planes = new HostMemory[blocks.planes().size()];
    List<Integer> numbers = new ArrayList<>(blocks.offsets());
    numbers.addAll(blocks.sizes());
    for (int key : keys) {
      numbers.add(key);
    }
    List<Expression> expressions = new ArrayList<>();
    for (int i = 0; i < columns; i++) {
      var type = schema.fields()[i].dataType();
      if (numbers.contains(i)) {
        expressions.add(
            type.equals(DataTypes.LongType)
                ? Literal.create(0L, DataTypes.LongType)
                : Literal.create(0, DataTypes.IntegerType));
      } else if (blocks.planes().contains(i)) {
        expressions.add(Literal.create(null, type));
      } else {
        expressions.add(carried.apply(i));
      }
    }
    this.head = RowProjections.of(expressions);
  }

  /** Sets the row from which carried columns of the following rows are read; it is borrowed. */
  public void carry(InternalRow source) {
    cells = head.apply(source);
  }

  /**
   * States whether the following rows stay unchanged after they are given out, which is the
   * default. Rows that are given out again after another {@link #set} do not.
   */
  public void rowsAreFinal(boolean areFinal) {
    isFinal = areFinal;
  }

  /**
   * Begins the row of the block from {@code low} to {@code high}.
   *
   * @return memory for the elements of each plane, with undefined content
   * @throws IllegalArgumentException if the row would have 2 GiB or more
   */
  public HostMemory[] begin(long[] low, long[] high) {
    long elements = 1;
    for (int axis = 0; axis < low.length; axis++) {
      elements = Math.multiplyExact(elements, high[axis] - low[axis]);
    }
    long headBytes = cells.getSizeInBytes();
    long size = headBytes;
    if (elements <= Integer.MAX_VALUE) {
      size += planes.length * RowBytes.array(elements, elementBytes);
    }
    if (elements > Integer.MAX_VALUE || size > Integer.MAX_VALUE - WORD_BYTES) {
      throw new IllegalArgumentException(
          ("%s: it would have %s elements, and its row 2 GiB or more; use smaller" + " blocks")
              .formatted(blocks.kind().describe(low), elements));
    }
    place((int) size, low, high);
    long at = headBytes;
    for (int plane = 0; plane < planes.length; plane++) {
      int ordinal = blocks.planes().get(plane);
      long header = UnsafeArrayData.calculateHeaderPortionInBytes(elements);
      Object base = row.getBaseObject();
      long start = row.getBaseOffset() + at;
      Platform.setMemory(base, start, header, (byte) 0);
      Platform.putLong(base, start, elements);
      long whole = RowBytes.array(elements, elementBytes);
      Platform.putLong(base, start + whole - WORD_BYTES, 0); // the last word may end in padding
      row.setNotNullAt(ordinal);
      Platform.putLong(base, field(ordinal), (at << 32) | whole);
      planes[plane] = new HostMemory(base, start + header, elements * elementBytes);
      at += whole;
    }
    return planes;
  }

  /**
   * Writes the row of the block from {@code low} to {@code high}, with null in place of the values.
   */
  public void beginWithoutValues(long[] low, long[] high) {
    place(cells.getSizeInBytes(), low, high);
  }

  /** Sets a number of the row begun last. */
  public void set(int ordinal, long value, boolean isLong) {
    Platform.putLong(
        row.getBaseObject(), field(ordinal), isLong ? value : Math.toIntExact(value) & 0xffffffffL);
  }

  /** The row begun last. */
  public UnsafeRow row() {
    return row;
  }

  private void place(int size, long[] low, long[] high) {
    allocator.begin(row, size, isFinal);
    Platform.copyMemory(
        cells.getBaseObject(),
        cells.getBaseOffset(),
        row.getBaseObject(),
        row.getBaseOffset(),
        cells.getSizeInBytes());
    for (int axis = 0; axis < low.length; axis++) {
      set(blocks.offsets().get(axis), low[axis], true);
      set(blocks.sizes().get(axis), high[axis] - low[axis], false);
    }
  }

  private long field(int ordinal) {
    return row.getBaseOffset()
        + UnsafeRow.calculateBitSetWidthInBytes(columns)
        + (long) ordinal * WORD_BYTES;
  }
}
