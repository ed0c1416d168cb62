package org.tilespark.spark.nearest;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import scala.collection.immutable.Seq;

/** Says above a join of nearest vectors that Spark plans why we do not. Gives its child's rows. */
public final class LeftToSpark extends LogicalBlockNode {
  private final String reason;
  private final LogicalPlan child;

  /** The node over a join, or over what Spark makes of it. */
  public LeftToSpark(String reason, LogicalPlan child) {
    this.reason = reason;
    this.child = child;
  }

  /** Why Spark plans the join. */
  public String reason() {
    return reason;
  }

  /** The join. */
  public LogicalPlan child() {
    return child;
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Statistics stats() {
    return child.stats();
  }

  @Override
  protected List<Object> fields() {
    return List.of(reason, child);
  }
}
