package org.tilespark.spark.catalyst;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.rdd.RDD;
import scala.reflect.ClassTag;

/**
 * The body of tasks that read a partition of each of several children. It is sent to executors, so
 * it refers to no node of a plan.
 *
 * @param <R> type of the results
 */
public interface PartitionsTask<R> extends Serializable {
  /** The results of partitions, one of each child, on the task's thread. */
  Iterator<R> open(List<Iterator<Object>> partitions);

  /**
   * The results of all partitions, each computed inside a {@link PartitionBoundary}.
   *
   * @param children RDDs that are read, at least one, all with the same number of partitions
   * @param type type of the results
   */
  default RDD<R> over(List<? extends RDD<?>> children, Class<R> type) {
    ClassTag<Partitions> each = ScalaInterop.classTag(Partitions.class);
    RDD<Partitions> all = null;
    for (RDD<?> child : children) {
      @SuppressWarnings("unchecked")
      RDD<Object> rows = (RDD<Object>) child;
      all =
          all == null
              ? rows.mapPartitions(
                  ScalaInterop.function(rows1 -> new Partitions(List.of()).and(rows1)), true, each)
              : all.zipPartitions(
                  rows,
                  true,
                  ScalaInterop.function2((before, next) -> before.next().and(next)),
                  ScalaInterop.classTag(Object.class),
                  each);
    }
    return all.mapPartitions(
        ScalaInterop.function(
            partitions -> PartitionBoundary.over(partitions.next().list(), this::open)),
        true,
        ScalaInterop.classTag(type));
  }

  /** The partitions that one task reads; this object does not leave the task. */
  record Partitions(List<scala.collection.Iterator<Object>> list) {
    scala.collection.Iterator<Partitions> and(scala.collection.Iterator<Object> next) {
      List<scala.collection.Iterator<Object>> more = new ArrayList<>(list);
      more.add(next);
      return ScalaInterop.iterator(List.of(new Partitions(more)).iterator());
    }
  }
}
