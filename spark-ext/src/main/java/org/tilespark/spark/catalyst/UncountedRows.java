package org.tilespark.spark.catalyst;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;

/**
 * Gives its child's rows, and states no bound of their count. It stands above a node that
 * {@linkplain LogicalBlockNode#holdsExchanges() holds exchanges}.
 *
 * <p>Adaptive execution replaces this node by the stages that have run, and takes the rows of the
 * first exchange below for all that the node gives. It would remove a sort of one row and a limit
 * that no fewer rows exceed, although the node makes many rows of one. This node hides the count
 * from it. There is no physical node: {@link PhysicalBlockNode#setLogicalLink} leaves the child's
 * physical node with the child.
 */
public final class UncountedRows extends SameRows {
  /** The node over a plan. */
  public UncountedRows(LogicalPlan child) {
    super(child);
  }

  /** The estimates of the child's node, also where stages stand in its place. */
  @Override
  public Statistics stats() {
    return child() instanceof LogicalQueryStage stage ? stage.logicalPlan().stats() : super.stats();
  }

  @Override
  public boolean costsLittle() {
    return false;
  }

  @Override
  protected List<Object> fields() {
    return List.of(child());
  }
}
