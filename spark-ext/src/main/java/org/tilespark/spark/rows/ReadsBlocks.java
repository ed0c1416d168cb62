package org.tilespark.spark.rows;

import org.apache.spark.sql.execution.SparkPlan;

/** A physical node that reads blocks from rows and from batches alike, without a transition. */
public interface ReadsBlocks {
  /** The child that gives the blocks. */
  SparkPlan blocks();

  /** The same node over another child. */
  SparkPlan withBlocks(SparkPlan blocks);
}
