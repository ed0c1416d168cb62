package org.tilespark.spark.exchange;

import java.io.Serializable;
import org.apache.spark.Partition;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import scala.Option;

/** Gives each task of an RDD all partitions of its parent. */
record EveryPartition() implements PartitionCoalescer, Serializable {
  @Override
  public PartitionGroup[] coalesce(int tasks, RDD<?> parent) {
    PartitionGroup[] groups = new PartitionGroup[tasks];
    for (int task = 0; task < tasks; task++) {
      groups[task] = new PartitionGroup(Option.empty());
      for (Partition each : parent.partitions()) {
        groups[task].partitions().addOne(each);
      }
    }
    return groups;
  }
}
