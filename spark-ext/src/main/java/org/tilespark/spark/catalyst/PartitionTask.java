package org.tilespark.spark.catalyst;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.spark.rdd.RDD;

/**
 * The body of tasks: it computes the results of one partition. It is sent to executors, so it
 * refers to no node of a plan.
 *
 * @param <A> type of the elements of a partition
 * @param <R> type of the results
 */
public interface PartitionTask<A, R> extends Serializable {
  /** The results of a partition, on the task's thread. */
  Iterator<R> open(Iterator<A> partition);

  /**
   * The results of all partitions, each computed inside a {@link PartitionBoundary}.
   *
   * @param type type of the results
   * @param isPlaced true if rows stay in their partitions, so that the RDD keeps its partitioner
   */
  default RDD<R> over(RDD<A> rows, Class<R> type, boolean isPlaced) {
    return ExchangeInput.marked(
        rows.mapPartitions(
            ScalaInterop.function(partition -> PartitionBoundary.over(partition, this::open)),
            isPlaced,
            ScalaInterop.classTag(type)),
        type);
  }
}
