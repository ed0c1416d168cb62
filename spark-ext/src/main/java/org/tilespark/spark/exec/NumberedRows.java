package org.tilespark.spark.exec;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.spark.interop.ScalaInterop;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction2;

/**
 * The rows of a partition that knows its number, for where two partitions are zipped: Spark tells
 * the number to neither, and that of the task differs where a union is above.
 */
final class NumberedRows extends AbstractIterator<InternalRow> {
  private final int partition;
  private final Iterator<InternalRow> rows;

  private NumberedRows(int partition, Iterator<InternalRow> rows) {
    this.partition = partition;
    this.rows = rows;
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext();
  }

  @Override
  public InternalRow next() {
    return rows.next();
  }

  /** Numbers partitions. */
  static final class Numbering
      extends AbstractFunction2<Object, Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1;

    @Override
    public Iterator<InternalRow> apply(Object partition, Iterator<InternalRow> rows) {
      return new NumberedRows((Integer) partition, rows);
    }
  }

  /** A task over two sorted partitions, of which the first is numbered. */
  static final class Zipped
      extends AbstractFunction2<Iterator<InternalRow>, Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1;

    private final MultiplyTask<InternalRow> task;

    Zipped(MultiplyTask<InternalRow> task) {
      this.task = task;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> first, Iterator<InternalRow> second) {
      int partition = ((NumberedRows) first).partition;
      return task.apply(
          partition,
          ScalaInterop.iterator(
              new MergedPieces(ScalaInterop.iterator(first), ScalaInterop.iterator(second))));
    }
  }
}
