package org.tilespark.spark.vectors;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.catalyst.RowProjections;
import org.tilespark.spark.rows.ArrayRowWriter;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import sun.misc.Unsafe;

/**
 * Spreads the blocks of one partition into rows, in their order.
 *
 * @param <T> type of a partition's elements: rows or batches
 * @param inputs the columns that are read
 * @param ordinals ordinals of these columns in the rows of the partition
 * @param output the rows that are given
 */
record SpreadTask<T>(
    SpreadSpec spec,
    StructType inputs,
    List<Integer> ordinals,
    BlockCursor.Source<T> source,
    StructType output,
    SQLMetric rowCount)
    implements PartitionTask<T, InternalRow> {
  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final int ROW = 0;
  private static final int COL = 1;

  @Override
  public Iterator<InternalRow> open(Iterator<T> partition) {
    return spec.isCells() ? new Cells(partition) : new Vectors(partition);
  }

  private static Literal zero(ElementType type) {
    Object zero =
        switch (type) {
          case INT8 -> (byte) 0;
          case INT16 -> (short) 0;
          case INT32 -> 0;
          case INT64 -> 0L;
          case FLOAT32 -> 0F;
          case FLOAT64 -> 0D;
        };
    return Literal.create(zero, BlockSchema.sparkType(type));
  }

  /** Iterates over blocks, each of which gives several rows. */
  private abstract class Rows implements Iterator<InternalRow> {
    final BlockCursor cursor;
    final BlockSchema blocks = spec.blocks().mapped(ordinals::get);
    final ElementType type = blocks.elementType();
    final BlockCheck check =
        new BlockCheck(blocks, spec.operator(), spec.extents().getOrElse(() -> null));
    final Object[] cells; // values of all columns but the last: places, further columns, id
    final UnsafeProjection heads;
    HostMemory values; // values of the current block
    private int next; // index in the current block of the next row
    private int count; // number of rows that the current block gives

    private Rows(Iterator<T> partition, Literal last) {
      this.cursor = source.open(partition);
      this.cells = new Object[output.length() - 1];
      List<Expression> expressions = new ArrayList<>();
      for (int i = 0; i < cells.length; i++) {
        StructField field = output.fields()[i];
        expressions.add(new BoundReference(i, field.dataType(), field.nullable()));
      }
      expressions.add(last);
      this.heads = RowProjections.of(expressions);
    }

    @Override
    public boolean hasNext() {
      while (next == count && cursor.advance()) {
        check.check(cursor);
        values = cursor.values(blocks.values(), type).values();
        next = 0;
        count = begin();
        rowCount.add(count);
      }
      return next < count;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return row(next++);
    }

    /** Begins a block that was checked; returns how many rows it gives. */
    abstract int begin();

    /** One of the rows that the block gives. */
    abstract InternalRow row(int index);

    final void carry(int first) {
      for (int i = 0; i < spec.further().size(); i++) {
        int position = spec.further().get(i);
        int ordinal = ordinals.get(position);
        DataType held = inputs.fields()[position].dataType();
        InternalRow row = cursor.row();
        cells[first + i] = row.isNullAt(ordinal) ? null : row.get(ordinal, held);
      }
    }

    final UnsafeRow head() {
      return heads.apply(new GenericInternalRow(cells));
    }
  }

  /** A row for each row of the matrix. */
  private final class Vectors extends Rows {
    private final int last = output.length() - 1; // ordinal of the vector
    private final ArrayRowWriter writer = new ArrayRowWriter(output.length(), last, type);
    private final int idOrdinal = spec.ids() < 0 ? -1 : ordinals.get(spec.ids());
    private ArrayData ids; // ids of the current block; null if there are none
    private UnsafeRow head;

    private Vectors(Iterator<T> partition) {
      super(partition, Literal.create(null, output.fields()[output.length() - 1].dataType()));
    }

    @Override
    int begin() {
      int rows = (int) check.size()[ROW];
      requireWhole();
      carry(1);
      cells[ROW] = 0L;
      if (idOrdinal < 0) {
        head = head();
        return rows;
      }
      if (cursor.row().isNullAt(idOrdinal)
          || cursor.row().getArray(idOrdinal).numElements() != rows) {
        throw bad("%s ids for %s rows", idCount(), rows);
      }
      ids = cursor.row().getArray(idOrdinal);
      return rows;
    }

    private String idCount() {
      return cursor.row().isNullAt(idOrdinal)
          ? "no"
          : Integer.toString(cursor.row().getArray(idOrdinal).numElements());
    }

    private void requireWhole() {
      long end = check.offset()[COL] + check.size()[COL];
      boolean isWhole =
          check.offset()[COL] == 0
              && (spec.extents().isEmpty() || end == spec.extents().get().extent(COL));
      if (!isWhole) {
        throw bad(
            "it has columns %s to %s; expected blocks that are whole along the columns: re-block"
                + " them first, as with matrix_reblock",
            check.offset()[COL], end);
      }
    }

    private IllegalArgumentException bad(String defect, Object... values) {
      return new IllegalArgumentException(
          "%s: %s (in %s)"
              .formatted(
                  blocks.kind().describe(check.offset()),
                  defect.formatted(values),
                  spec.operator()));
    }

    @Override
    InternalRow row(int index) {
      if (ids != null) {
        DataType idType = output.fields()[last - 1].dataType();
        cells[last - 1] = ids.isNullAt(index) ? null : ids.get(index, idType);
        head = head();
      }
      long cols = check.size()[COL];
      HostMemory vector = writer.start(head, cols);
      values.slice(index * vector.bytes(), vector.bytes()).copyTo(vector);
      writer.row().setLong(ROW, check.offset()[ROW] + index);
      return writer.row();
    }
  }

  /** A row for each element of the matrix. */
  private final class Cells extends Rows {
    private final int last = output.length() - 1; // ordinal of the value
    private UnsafeRow head;

    private Cells(Iterator<T> partition) {
      super(partition, zero(spec.blocks().elementType()));
    }

    @Override
    int begin() {
      cells[ROW] = 0L;
      cells[COL] = 0L;
      carry(COL + 1);
      head = head();
      return Math.toIntExact(check.size()[ROW] * check.size()[COL]);
    }

    @Override
    InternalRow row(int index) {
      int cols = (int) check.size()[COL];
      head.setLong(ROW, check.offset()[ROW] + index / cols);
      head.setLong(COL, check.offset()[COL] + index % cols);
      Object base = values.base();
      long at = values.offset() + (long) index * type.bytes();
      switch (type) {
        case INT8 -> head.setByte(last, UNSAFE.getByte(base, at));
        case INT16 -> head.setShort(last, UNSAFE.getShort(base, at));
        case INT32 -> head.setInt(last, UNSAFE.getInt(base, at));
        case INT64 -> head.setLong(last, UNSAFE.getLong(base, at));
        case FLOAT32 -> head.setFloat(last, UNSAFE.getFloat(base, at));
        case FLOAT64 -> head.setDouble(last, UNSAFE.getDouble(base, at));
      }
      return head;
    }
  }
}
