package org.tilespark.spark.catalyst;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;

/**
 * Marks plans whose blocks are exactly the cells of the tiling that their metadata state, because
 * their inputs were checked. Without marks, each use would repeat the plan for a check. A mark may
 * get lost, then blocks are checked once more.
 */
public final class AllCells {
  private static final TreeNodeTag<Boolean> MARK = new TreeNodeTag<>("tilespark.allCells");

  private AllCells() {}

  /** Marks a plan, and returns it. */
  public static LogicalPlan marked(LogicalPlan plan) {
    plan.setTagValue(MARK, true);
    return plan;
  }

  /** True if a plan is marked, or a node that always gives all cells. */
  public static boolean areIn(LogicalPlan plan) {
    return plan.getTagValue(MARK).isDefined()
        || plan instanceof LogicalBlockNode node && node.givesAllCells();
  }
}
