package org.tilespark.spark.catalyst;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A logical node that makes blocks, and knows their places before it makes them. */
public interface GivesPlaces {
  /**
   * A plan with the node's rows and all its columns but the values, by the same ids, which makes no
   * blocks; empty if there is none.
   */
  Optional<LogicalPlan> places();
}
