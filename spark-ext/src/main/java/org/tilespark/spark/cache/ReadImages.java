package org.tilespark.spark.cache;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.store.ImageMemory;

/**
 * The batches of a cached partition, whose memory stays until the task ends: Spark's lock on the
 * block goes with its last batch, and an eviction or an unpersist may close batches from then on.
 * For the task's thread.
 */
final class ReadImages {
  private final Iterator<CachedBatch> batches;
  private final List<ImageMemory> held = new ArrayList<>();

  /** Batches of {@code task}. */
  ReadImages(Iterator<CachedBatch> batches, TaskContext task) {
    this.batches = batches;
    task.addTaskCompletionListener(
        (TaskCompletionListener)
            ended -> {
              held.forEach(ImageMemory::release);
              held.clear();
            });
  }

  boolean hasNext() {
    return batches.hasNext();
  }

  /** The next batch. */
  ImageBatch next() {
    ImageBatch batch = (ImageBatch) batches.next();
    ImageMemory memory = batch.memory();
    boolean isHeld = memory == null || (!held.isEmpty() && held.get(held.size() - 1) == memory);
    if (!isHeld) {
      if (!memory.retain()) {
        throw new IllegalStateException("A cached block was freed while a task reads it");
      }
      held.add(memory);
    }
    return batch;
  }
}
