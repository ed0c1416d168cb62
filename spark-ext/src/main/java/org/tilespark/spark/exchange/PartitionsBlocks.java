package org.tilespark.spark.exchange;

import java.util.Optional;
import org.apache.spark.SparkContext;

/** A logical node that decides how its blocks will be partitioned. */
public interface PartitionsBlocks {
  /** How its output will be partitioned, in terms of its columns; empty if that is not known. */
  Optional<BlockPartitioning> partitioning(SparkContext context);
}
