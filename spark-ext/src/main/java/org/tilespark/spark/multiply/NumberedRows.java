package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.MergedRows;
import org.tilespark.spark.rows.RetainableRows;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction2;

/**
 * The rows of a partition with its number: Spark does not pass it to a function over zipped
 * partitions, and below a union the number in the task's context is another one.
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

  /** The function that gives the rows of a partition its number. */
  static final class Numbering
      extends AbstractFunction2<Object, Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    @Override
    public Iterator<InternalRow> apply(Object partition, Iterator<InternalRow> rows) {
      return new NumberedRows((Integer) partition, rows);
    }
  }

  /**
   * Pieces of a shared part as those of one side of a cuboid: the cuboid's key and the side are
   * appended to each piece's own columns, since other tasks may read the same memory.
   */
  private static final class Labelled implements java.util.Iterator<InternalRow> {
    private final java.util.Iterator<InternalRow> pieces;
    private final InternalRow label;
    private final JoinedRow labelled; // row object of pieces that are not RetainableRows
    // Row objects of pieces that are RetainableRows, one for each reader, by the row object that
    // the reader reuses.
    private final Map<InternalRow, JoinedRow> ofOwners = new IdentityHashMap<>();

    private Labelled(java.util.Iterator<InternalRow> pieces, int key, int side) {
      this.pieces = pieces;
      this.label = new GenericInternalRow(new Object[] {key, side});
      this.labelled = newRow();
    }

    private JoinedRow newRow() {
      JoinedRow row = new JoinedRow();
      row.withRight(label);
      return row;
    }

    @Override
    public boolean hasNext() {
      return pieces.hasNext();
    }

    @Override
    public InternalRow next() {
      InternalRow piece = pieces.next();
      return RetainableRows.owner(piece)
          .map(owner -> ofOwners.computeIfAbsent(piece, first -> ownedBy(owner)))
          .orElse(labelled)
          .withLeft(piece);
    }

    private JoinedRow ownedBy(RetainableRows.Owner owner) {
      JoinedRow row = newRow();
      RetainableRows.given(row, owner, TaskContext.get());
      return row;
    }
  }

  /** A task over two sorted partitions, of which the first is numbered. */
  static final class Zipped
      extends AbstractFunction2<Iterator<InternalRow>, Iterator<InternalRow>, Iterator<InternalRow>>
      implements Serializable {
    private final MultiplyTask<InternalRow> task;
    private final Cuboids cuboids;
    private final PieceColumns.Labels labels;

    /**
     * A task over both operands' pieces of a cuboid, or over the parts that it shares with other
     * cuboids; then the partition's number is the cuboid's.
     *
     * @param labels columns with the side and cuboid of a piece
     */
    Zipped(MultiplyTask<InternalRow> task, Cuboids cuboids, PieceColumns.Labels labels) {
      this.task = task;
      this.cuboids = cuboids;
      this.labels = labels;
    }

    @Override
    public Iterator<InternalRow> apply(Iterator<InternalRow> first, Iterator<InternalRow> second) {
      int partition = ((NumberedRows) first).partition;
      return task.apply(
          partition,
          ScalaInterop.iterator(
              new MergedRows(
                  pieces(first, partition, 0), pieces(second, partition, 1), labels.order())));
    }

    private java.util.Iterator<InternalRow> pieces(
        Iterator<InternalRow> rows, int partition, int side) {
      java.util.Iterator<InternalRow> pieces = ScalaInterop.iterator(rows);
      return cuboids.isShared() ? new Labelled(pieces, cuboids.key(partition), side) : pieces;
    }
  }
}
