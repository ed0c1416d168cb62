package org.tilespark.spark.rows;

import java.util.List;
import org.apache.spark.sql.execution.SparkPlan;

/** A physical node that reads blocks from both rows and batches, without a transition. */
public interface ReadsBlocks {
  /** The children that give the blocks. */
  List<SparkPlan> blocks();

  /** This node over these children in place of its own, except those from which it cannot read. */
  SparkPlan withBlocks(List<SparkPlan> blocks);
}
