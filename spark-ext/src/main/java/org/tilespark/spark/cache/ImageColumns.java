package org.tilespark.spark.cache;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ForeignAllocation;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.store.ImageMemory;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.rows.RowsVector;
import org.tilespark.spark.runtime.ExecutorRuntime;
import scala.runtime.AbstractFunction1;

/**
 * Cached batches as columns over their rows, in place. Closing a batch frees nothing: the task
 * holds the rows. For the task's thread.
 */
final class ImageColumns implements Iterator<ColumnarBatch> {
  private final ReadImages batches;
  private final Selection selection;
  private final Optional<ArrowMemory> pinned = ExecutorRuntime.current().pinnedMemory();
  private ImageMemory owned; // the images' memory that owner keeps
  // Keeps the memory; empty if no device can copy from it.
  private Optional<ArrowBuf> owner = Optional.empty();

  private ImageColumns(Iterator<CachedBatch> batches, Selection selection) {
    TaskContext task = TaskContext.get();
    this.batches = new ReadImages(batches, task);
    this.selection = selection;
    task.addTaskCompletionListener((TaskCompletionListener) ended -> endOwner());
  }

  @Override
  public boolean hasNext() {
    return batches.hasNext();
  }

  @Override
  public ColumnarBatch next() {
    ImageBatch.Rows batch = batches.next();
    List<UnsafeRow> rows = new ArrayList<>(batch.count());
    for (int i = 0; i < batch.count(); i++) {
      UnsafeRow row = new UnsafeRow(selection.cached().length());
      batch.point(i, row);
      rows.add(row);
    }
    if (batch.memory() != owned) {
      endOwner();
      owned = batch.memory();
      owner = pinned.flatMap(memory -> owner(memory, owned));
    }
    ColumnVector[] columns = new ColumnVector[selection.ordinals().length];
    for (int i = 0; i < columns.length; i++) {
      int ordinal = selection.ordinals()[i];
      columns[i] =
          RowsVector.of(selection.cached().fields()[ordinal].dataType(), rows, ordinal, owner);
    }
    return new ColumnarBatch(columns, rows.size());
  }

  /** A buffer that uploads retain, so that the images stay until they have been copied. */
  private static Optional<ArrowBuf> owner(ArrowMemory pinned, ImageMemory images) {
    if (images == null || !images.isPinned() || !images.retain()) {
      return Optional.empty();
    }
    ForeignAllocation retained =
        new ForeignAllocation(images.heldBytes(), images.address()) {
          @Override
          protected void release0() {
            images.release();
          }
        };
    return Optional.of(pinned.root().wrapForeignAllocation(retained));
  }

  private void endOwner() {
    owner.ifPresent(ArrowBuf::close);
    owner = Optional.empty();
    owned = null;
  }

  /** Opens the batches of a partition, on the executor. */
  static final class Opener
      extends AbstractFunction1<
          scala.collection.Iterator<CachedBatch>, scala.collection.Iterator<ColumnarBatch>>
      implements Serializable {
    private final Selection selection;

    Opener(Selection selection) {
      this.selection = selection;
    }

    @Override
    public scala.collection.Iterator<ColumnarBatch> apply(
        scala.collection.Iterator<CachedBatch> batches) {
      return PartitionBoundary.over(batches, each -> new ImageColumns(each, selection));
    }
  }
}
