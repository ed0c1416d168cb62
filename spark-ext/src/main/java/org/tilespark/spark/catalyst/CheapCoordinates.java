package org.tilespark.spark.catalyst;

import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.storage.StorageLevel;

/** Finds plans whose block coordinates can be read without computing the blocks' values. */
public final class CheapCoordinates {
  private CheapCoordinates() {}

  /** True if coordinates and grouping columns of {@code plan} need no values of blocks. */
  public static boolean in(LogicalPlan plan) {
    if (plan instanceof LogicalRDD rows) {
      return rows.rdd().isCheckpointed()
          || !rows.rdd().getStorageLevel().equals(StorageLevel.NONE());
    }
    if (plan instanceof LogicalBlockNode node) {
      return node.coordinatesAreCheap();
    }
    boolean passesThrough =
        plan instanceof LeafNode
            || plan instanceof Union
            || plan instanceof RepartitionOperation
            || (plan instanceof Project && plan.deterministic())
            || (plan instanceof Filter && plan.deterministic());
    return passesThrough
        && ScalaInterop.<LogicalPlan>list(plan.children()).stream().allMatch(CheapCoordinates::in);
  }
}
