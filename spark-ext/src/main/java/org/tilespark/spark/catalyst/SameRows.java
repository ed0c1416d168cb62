package org.tilespark.spark.catalyst;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import scala.collection.immutable.Seq;

/**
 * A logical node that passes on the rows of a child; {@link SameRowsExec} is its physical
 * counterpart.
 */
public abstract class SameRows extends LogicalBlockNode {
  private final LogicalPlan child;

  protected SameRows(LogicalPlan child) {
    this.child = child;
  }

  /** The child, whose rows this node passes on. */
  public final LogicalPlan child() {
    return child;
  }

  @Override
  public final Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Statistics stats() {
    return child.stats();
  }
}
