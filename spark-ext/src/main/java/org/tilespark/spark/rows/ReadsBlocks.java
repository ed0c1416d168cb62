package org.tilespark.spark.rows;

import java.util.List;
import org.apache.spark.sql.execution.SparkPlan;

/** A physical node that reads blocks from rows and from batches alike, without a transition. */
public interface ReadsBlocks {
  /** The children that give the blocks. */
  List<SparkPlan> blocks();

  /** This node over other children, as far as it can read from them. */
  SparkPlan withBlocks(List<SparkPlan> blocks);
}
