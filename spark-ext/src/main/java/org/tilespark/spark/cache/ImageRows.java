package org.tilespark.spark.cache;

import java.io.Serializable;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.rows.RetainableRows;
import scala.runtime.AbstractFunction1;

/**
 * The rows of cached batches in place: one row object that is moved from row to row. For the task's
 * thread.
 */
final class ImageRows implements Iterator<InternalRow> {
  private final ReadImages batches;
  private final UnsafeRow view;
  private ImageBatch.Rows batch; // the batch that is read; null before the first
  private int next; // index in the batch of the next row

  private ImageRows(Iterator<CachedBatch> batches, int fields) {
    TaskContext task = TaskContext.get();
    this.batches = new ReadImages(batches, task);
    this.view = new UnsafeRow(fields);
    RetainableRows.given(view, this.batches::retain, task);
  }

  @Override
  public boolean hasNext() {
    while (batch == null || next == batch.count()) {
      if (!batches.hasNext()) {
        return false;
      }
      batch = batches.next();
      next = 0;
    }
    return true;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    batch.point(next++, view);
    return view;
  }

  /** Opens the rows of a partition, on the executor. */
  static final class Opener
      extends AbstractFunction1<
          scala.collection.Iterator<CachedBatch>, scala.collection.Iterator<InternalRow>>
      implements Serializable {
    private final Selection selection;

    Opener(Selection selection) {
      this.selection = selection;
    }

    @Override
    public scala.collection.Iterator<InternalRow> apply(
        scala.collection.Iterator<CachedBatch> batches) {
      return PartitionBoundary.over(
          batches, each -> selection.rows(new ImageRows(each, selection.cached().length())));
    }
  }
}
