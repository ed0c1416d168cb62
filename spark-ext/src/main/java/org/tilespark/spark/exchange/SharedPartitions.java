package org.tilespark.spark.exchange;

import java.io.Serializable;
import org.apache.spark.Partition;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.spark.error.ErrorBoundary;
import scala.Option;

/** Gives each task a partition of a shuffle which other tasks may read too. */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record SharedPartitions(int expected, int[] partitions)
    implements PartitionCoalescer, Serializable {

  /**
   * The rows of each task.
   *
   * @param expected count of {@code rows}' partitions
   * @param partitions that each task reads, task by task; -1 for none
   */
  public static RDD<InternalRow> of(RDD<InternalRow> rows, int expected, int[] partitions) {
    return rows.coalesce(
        partitions.length,
        false,
        Option.apply(new SharedPartitions(expected, partitions.clone())),
        null);
  }

  @Override
  public PartitionGroup[] coalesce(int maxPartitions, RDD<?> parent) {
    Partition[] all = parent.partitions();
    if (all.length != expected) {
      throw ErrorBoundary.defect(
          all.length
              + " partitions to share among "
              + partitions.length
              + " tasks; expected "
              + expected
              + "; please report this with the plan");
    }
    PartitionGroup[] groups = new PartitionGroup[partitions.length];
    for (int task = 0; task < groups.length; task++) {
      groups[task] = new PartitionGroup(Option.empty());
      if (partitions[task] >= 0) {
        groups[task].partitions().addOne(all[partitions[task]]);
      }
    }
    return groups;
  }
}
