package org.tilespark.spark.exchange;

import java.util.Optional;
import org.apache.spark.SparkContext;

/** A logical node that decides how its blocks will be partitioned. */
public interface PartitionsBlocks {
  /** The partitioning of the output's rows, in terms of the output's columns; empty if unknown. */
  Optional<BlockPartitioning> partitioning(SparkContext context);
}
