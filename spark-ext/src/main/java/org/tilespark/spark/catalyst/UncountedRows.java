package org.tilespark.spark.catalyst;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;

/**
 * Passes on its child's rows, but states no bound of their count. It is inserted above a node that
 * {@linkplain LogicalBlockNode#holdsExchanges() holds exchanges}.
 *
 * <p>Adaptive execution replaces this node by the stages that have run, and assumes that the node
 * gives only the rows of the first exchange below. For an exchange with one row it would remove a
 * sort or a limit above, although the node makes many rows from it. This node hides the count from
 * it. There is no physical node: {@link PhysicalBlockNode#setLogicalLink} leaves the child's
 * physical node with the child.
 */
public final class UncountedRows extends SameRows {
  /** The node over a child. */
  public UncountedRows(LogicalPlan child) {
    super(child);
  }

  /** The estimates of the logical child, even after stages have replaced it. */
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
