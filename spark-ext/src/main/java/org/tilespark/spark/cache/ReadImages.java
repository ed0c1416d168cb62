package org.tilespark.spark.cache;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.spark.rows.RetainableRows;
import org.tilespark.spark.rows.SharedUse;

/**
 * The batches of a cached partition, whose memory is retained until the task ends: Spark releases
 * its lock on the block after the last batch, and then eviction or unpersist may close batches. For
 * the task's thread.
 */
final class ReadImages {
  private final Iterator<CachedBatch> batches;
  private final List<ImageBatch.Rows> held = new ArrayList<>();
  private ImageBatch next; // the batch that comes next; null before it is looked for
  private final SharedUse memory = new SharedUse(this::free);

  /** Reads {@code batches} in {@code task}, and frees them when the task ends. */
  ReadImages(Iterator<CachedBatch> batches, TaskContext task) {
    this.batches = batches;
    task.addTaskCompletionListener((TaskCompletionListener) ended -> memory.close());
  }

  /** Begins a use of the batches that were read, which keeps their memory. */
  Optional<RetainableRows.Use> retain() {
    return memory.begin();
  }

  private void free() {
    held.forEach(ImageBatch.Rows::close);
    held.clear();
  }

  /** True if there is another batch with rows. */
  boolean hasNext() {
    while (next == null && batches.hasNext()) {
      ImageBatch batch = (ImageBatch) batches.next();
      next = batch.numRows() == 0 ? null : batch;
    }
    return next != null;
  }

  /** The rows of the next batch. */
  ImageBatch.Rows next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    ImageBatch.Rows rows = next.use();
    next = null;
    if (rows.memory() != null) {
      held.add(rows);
    }
    return rows;
  }
}
