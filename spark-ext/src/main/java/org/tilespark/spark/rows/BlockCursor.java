package org.tilespark.spark.rows;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;

/**
 * Iterates over the rows of a partition of rows or batches, and gives their value arrays in place.
 * Results are valid until the next {@link #advance}.
 */
public abstract class BlockCursor {
  /**
   * Opens a cursor over a partition; sent to executors.
   *
   * @param <T> type of a partition's elements: rows or batches
   */
  public interface Source<T> extends Serializable {
    BlockCursor open(Iterator<T> partition);
  }

  /** Moves to the next row; false if there is none. */
  public abstract boolean advance();

  /** The current row, for its columns other than values, which {@link #values} reads. */
  public abstract InternalRow row();

  /** Elements in the array in column {@code ordinal}, which is not null. */
  public abstract int length(int ordinal);

  /** Index of the first null in the array in column {@code ordinal}, or -1. */
  public abstract long firstNull(int ordinal);

  /** The values of the array in column {@code ordinal}, which holds no nulls. */
  public abstract Plane values(int ordinal, ElementType type);

  public static BlockCursor overRows(Iterator<InternalRow> rows) {
    return new Rows(rows);
  }

  public static BlockCursor overBatches(Iterator<ColumnarBatch> batches) {
    return new Batches(batches);
  }

  private static final class Rows extends BlockCursor {
    private final Iterator<InternalRow> rows;
    private InternalRow row;

    private Rows(Iterator<InternalRow> rows) {
      this.rows = rows;
    }

    @Override
    public boolean advance() {
      row = rows.hasNext() ? rows.next() : null;
      return row != null;
    }

    @Override
    public InternalRow row() {
      return row;
    }

    @Override
    public int length(int ordinal) {
      return row.getArray(ordinal).numElements();
    }

    @Override
    public long firstNull(int ordinal) {
      return ArrayValues.firstNull(row.getArray(ordinal));
    }

    @Override
    public Plane values(int ordinal, ElementType type) {
      return BlockValues.of(row.getArray(ordinal), type);
    }
  }

  private static final class Batches extends BlockCursor {
    private final Iterator<ColumnarBatch> batches;
    private ColumnarBatch batch;
    private int index;

    private Batches(Iterator<ColumnarBatch> batches) {
      this.batches = batches;
    }

    @Override
    public boolean advance() {
      index++;
      while (batch == null || index >= batch.numRows()) {
        if (!batches.hasNext()) {
          batch = null;
          return false;
        }
        batch = batches.next();
        index = 0;
      }
      return true;
    }

    @Override
    public InternalRow row() {
      return batch.getRow(index);
    }

    @Override
    public int length(int ordinal) {
      return array(ordinal).numElements();
    }

    @Override
    public long firstNull(int ordinal) {
      ColumnVector column = batch.column(ordinal);
      ListVector list = BlockValues.arrowList(column);
      if (list != null) {
        return BlockValues.firstNull(list, index);
      }
      // Only these vectors are known to have their elements in a child vector that knows whether
      // any is null.
      boolean knownFull = column instanceof WritableColumnVector own && !own.getChild(0).hasNull();
      return knownFull ? -1 : ArrayValues.firstNull(array(ordinal));
    }

    @Override
    public Plane values(int ordinal, ElementType type) {
      ColumnVector column = batch.column(ordinal);
      if (column instanceof RowsVector rows) {
        return rows.values(index, type);
      }
      ListVector list = BlockValues.arrowList(column);
      return list == null ? BlockValues.of(array(ordinal), type) : BlockValues.of(list, index);
    }

    private ArrayData array(int ordinal) {
      ColumnVector column = batch.column(ordinal);
      return column instanceof RowsVector rows ? rows.array(index) : column.getArray(index);
    }
  }
}
