package org.tilespark.spark.cache;

import java.util.function.Supplier;
import org.apache.spark.Partition;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.columnar.CachedBatch;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerMaster;
import org.apache.spark.storage.RDDBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * The batches of a cached frame as a query reads them. A block that cannot be read is dropped on
 * all executors, so that the task's next attempt computes it again; Spark itself would read the
 * same bytes again.
 */
final class StoredBatches extends RDD<CachedBatch> {
  private static final Logger LOG = LoggerFactory.getLogger(StoredBatches.class);

  private static final long WAIT_MILLIS = 10;
  private static final long MOST_WAIT_MILLIS = 5_000;

  private final int stored; // id of the RDD that Spark stores

  /**
   * The batches of {@code input}, which has a partition for each partition of {@code stored}.
   *
   * @param stored the RDD of batches that Spark stores
   */
  StoredBatches(RDD<CachedBatch> input, RDD<?> stored) {
    super(input, ScalaInterop.classTag(CachedBatch.class));
    this.stored = stored.id();
  }

  private RDD<CachedBatch> input() {
    return firstParent(ScalaInterop.classTag(CachedBatch.class));
  }

  @Override
  public Partition[] getPartitions() {
    return input().partitions();
  }

  @Override
  public Iterator<CachedBatch> compute(Partition split, TaskContext task) {
    Batches batches = new Batches(reading(split, task, () -> input().iterator(split, task)));
    return new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return reading(split, task, batches::hasNext);
      }

      @Override
      public CachedBatch next() {
        return reading(split, task, batches::next);
      }
    };
  }

  /** Gives the batches of a partition, and checks that none is missing. */
  private static final class Batches {
    private final Iterator<CachedBatch> all;
    private int read;
    private boolean isComplete; // true if the partition's last batch was read

    Batches(Iterator<CachedBatch> all) {
      this.all = all;
    }

    boolean hasNext() {
      boolean hasNext = all.hasNext();
      if (!hasNext && !isComplete) {
        throw incomplete("it ends after " + read + " batches, of which none is the last");
      }
      return hasNext;
    }

    CachedBatch next() {
      ImageBatch batch = (ImageBatch) all.next();
      if (isComplete || batch.place().number() != read) {
        throw incomplete("batch " + batch.place().number() + " follows " + read + " others");
      }
      read++;
      isComplete = batch.place().isLast();
      return batch;
    }

    private static IllegalStateException incomplete(String found) {
      return new IllegalStateException("A cached partition has lost batches: " + found);
    }
  }

  private <T> T reading(Partition split, TaskContext task, Supplier<T> body) {
    try {
      return body.get();
    } catch (Throwable failure) {
      if (failure instanceof Exception && !task.isInterrupted()) {
        drop(new RDDBlockId(stored, split.index()), task, failure);
      }
      throw failure;
    }
  }

  /**
   * Drops a Spark block, and waits a moment until it is gone, since the next attempts follow at
   * once. Does nothing if the block is not stored: then its computation has failed.
   */
  private static void drop(RDDBlockId block, TaskContext task, Throwable failure) {
    try {
      BlockManager manager = SparkEnv.get().blockManager();
      BlockManagerMaster master = manager.master();
      if (master.getLocations(block).isEmpty()) {
        return;
      }
      LOG.warn("Cached block {} cannot be read; it is dropped", block, failure);
      release(manager, block, task); // otherwise the removal waits for this task
      master.removeBlock(block);
      for (long waited = 0; waited < MOST_WAIT_MILLIS; waited += WAIT_MILLIS) {
        if (master.getLocations(block).isEmpty()) {
          return;
        }
        Thread.sleep(WAIT_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
    }
  }

  private static void release(BlockManager manager, RDDBlockId block, TaskContext task) {
    try {
      manager.releaseLock(block, Option.apply(task));
    } catch (RuntimeException | AssertionError e) {
      LOG.debug("This task did not hold block {}", block, e);
    }
  }
}
