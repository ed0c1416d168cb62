package org.tilespark.spark.multiply;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.spark.catalyst.ScalaInterop;
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

  /** Pieces of a shared part, which become those of one side of a cuboid. */
  private record Labelled(java.util.Iterator<InternalRow> pieces, int key, int side)
      implements java.util.Iterator<InternalRow> {
    @Override
    public boolean hasNext() {
      return pieces.hasNext();
    }

    @Override
    public InternalRow next() {
      InternalRow piece = pieces.next();
      piece.setInt(PieceColumns.KEY, key); // in the memory of this task's own sort
      piece.setInt(PieceColumns.SIDE, side);
      return piece;
    }
  }

  /** A task over two sorted partitions, of which the first is numbered. */
  static final class Zipped
      extends AbstractFunction2<Iterator<InternalRow>, Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private static final long serialVersionUID = 1;

    private final MultiplyTask<InternalRow> task;
    private final Cuboids cuboids; // whose shared parts are zipped; null if pieces are their own

    /**
     * Over the pieces of a cuboid, or parts that the cuboid of the partition's number shares.
     *
     * @param cuboids whose parts they are; null if the pieces are the cuboid's own
     */
    Zipped(MultiplyTask<InternalRow> task, Cuboids cuboids) {
      this.task = task;
      this.cuboids = cuboids;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> first, Iterator<InternalRow> second) {
      int partition = ((NumberedRows) first).partition;
      return task.apply(
          partition,
          ScalaInterop.iterator(
              new MergedPieces(pieces(first, partition, 0), pieces(second, partition, 1))));
    }

    private java.util.Iterator<InternalRow> pieces(
        Iterator<InternalRow> rows, int partition, int side) {
      java.util.Iterator<InternalRow> pieces = ScalaInterop.iterator(rows);
      return cuboids == null ? pieces : new Labelled(pieces, cuboids.key(partition), side);
    }
  }
}
