package org.tilespark.spark.vectors;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.catalyst.ScalaInterop.SerializableFunction;

/**
 * Adds up the rows of a partition.
 *
 * @param <A> type of a partition's elements: rows, or batches of several rows
 * @param size gives the number of rows of an element
 */
record RowCounts<A>(SerializableFunction<A, Long> size) implements PartitionTask<A, Long> {
  /** The count of each partition's rows, found by a job. */
  static <A> long[] of(RDD<A> partitions, SerializableFunction<A, Long> size) {
    Object[] all = (Object[]) new RowCounts<>(size).over(partitions, Long.class, true).collect();
    long[] counts = new long[all.length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = (Long) all[i];
    }
    return counts;
  }

  @Override
  public Iterator<Long> open(Iterator<A> partition) {
    long count = 0;
    while (partition.hasNext()) {
      count += size.apply(partition.next());
    }
    return List.of(count).iterator();
  }
}
