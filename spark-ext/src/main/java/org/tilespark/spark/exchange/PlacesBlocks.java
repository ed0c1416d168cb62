package org.tilespark.spark.exchange;

import java.util.Optional;
import org.apache.spark.SparkContext;

/** A logical node that decides itself in which partitions its blocks will lie. */
public interface PlacesBlocks {
  /** How its output will be partitioned, in terms of its columns; empty if that is not known. */
  Optional<Placement> partitioning(SparkContext context);
}
