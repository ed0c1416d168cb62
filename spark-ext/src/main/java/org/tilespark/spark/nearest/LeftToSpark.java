package org.tilespark.spark.nearest;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.catalyst.SameRows;

/** Shows in EXPLAIN why a join of nearest vectors is left to Spark. Passes on its child's rows. */
public final class LeftToSpark extends SameRows {
  private final String reason;

  /** The node over a join that Spark plans, or over Spark's replacement of the join. */
  public LeftToSpark(String reason, LogicalPlan child) {
    super(child);
    this.reason = reason;
  }

  /** The reason why Spark plans the join. */
  public String reason() {
    return reason;
  }

  @Override
  protected List<Object> fields() {
    return List.of(reason, child());
  }
}
