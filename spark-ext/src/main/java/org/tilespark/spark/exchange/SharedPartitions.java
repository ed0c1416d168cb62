package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.spark.error.ErrorBoundary;
import scala.Option;

/** Gives each task partitions of a shuffle which other tasks may read too. */
public record SharedPartitions(int expected, List<List<Integer>> partitions)
    implements PartitionCoalescer, Serializable {

  /**
   * The rows of each task.
   *
   * @param expected count of {@code rows}' partitions
   * @param partitions that each task reads, one after another, task by task
   */
  public static RDD<InternalRow> of(
      RDD<InternalRow> rows, int expected, List<List<Integer>> partitions) {
    return rows.coalesce(
        partitions.size(),
        false,
        Option.apply(new SharedPartitions(expected, List.copyOf(partitions))),
        null);
  }

  @Override
  public PartitionGroup[] coalesce(int maxPartitions, RDD<?> parent) {
    Partition[] all = parent.partitions();
    if (all.length != expected) {
      throw ErrorBoundary.defect(
          all.length
              + " partitions to share among "
              + partitions.size()
              + " tasks; expected "
              + expected
              + "; please report this with the plan");
    }
    return partitions.stream()
        .map(
            ofTask -> {
              PartitionGroup group = new PartitionGroup(Option.empty());
              ofTask.forEach(partition -> group.partitions().addOne(all[partition]));
              return group;
            })
        .toArray(PartitionGroup[]::new);
  }
}
