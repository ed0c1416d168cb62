package org.tilespark.spark.catalyst;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A logical node that makes blocks and can compute their places without their values. */
public interface GivesPlaces {
  /**
   * A plan with the node's rows and all its columns but the values, under the same expression ids,
   * which makes no blocks; empty if that is impossible.
   */
  Optional<LogicalPlan> places();
}
