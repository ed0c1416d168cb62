package org.tilespark.spark.cache;

import java.util.Optional;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.columnar.CachedBatch;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.Iterator;

/**
 * The batches of a frame that is cached as images. Readers recognise our cached frames by this
 * class, not by their columns, since Spark also uses the cache of a query that differs only in
 * names.
 */
final class CachedImages extends RDD<CachedBatch> {
  /**
   * Most RDDs between the one that a query reads and one of this class: Spark's RDDs that count
   * rows, skip batches, and store them.
   */
  private static final int MOST_STEPS = 3;

  private final ImageBatches.Opener open;

  /** Batches of the rows of {@code input}. */
  CachedImages(RDD<InternalRow> input, ImageBatches.Opener open) {
    super(input, ScalaInterop.classTag(CachedBatch.class));
    this.open = open;
  }

  /**
   * The batches of a cached frame for a query that reads {@code batches}; empty if they are not
   * images. If Spark stores the batches, unreadable ones are dropped.
   */
  static Optional<RDD<CachedBatch>> behind(RDD<CachedBatch> batches) {
    RDD<?> stored = null;
    RDD<?> each = batches;
    for (int step = 0; step <= MOST_STEPS; step++) {
      stored = each.getStorageLevel().isValid() ? each : stored;
      if (each instanceof CachedImages) {
        return Optional.of(stored == null ? batches : new StoredBatches(batches, stored));
      }
      if (each.dependencies().size() != 1) {
        break;
      }
      each = ((Dependency<?>) each.dependencies().head()).rdd();
    }
    return Optional.empty();
  }

  private RDD<InternalRow> rows() {
    return firstParent(ScalaInterop.classTag(InternalRow.class));
  }

  @Override
  public Partition[] getPartitions() {
    return rows().partitions();
  }

  @Override
  public Iterator<CachedBatch> compute(Partition split, TaskContext context) {
    return open.apply(rows().iterator(split, context));
  }
}
