package org.tilespark.spark.nearest;

import java.util.List;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.SameRowsExec;

/** Passes on its child's rows; EXPLAIN shows why Spark plans the join. */
public final class LeftToSparkExec extends SameRowsExec {
  private static final long serialVersionUID = 1;

  private final String reason;

  /** The node over Spark's physical plan of a join. */
  public LeftToSparkExec(String reason, SparkPlan child) {
    super(child);
    this.reason = reason;
  }

  @Override
  public String simpleString(int maxFields) {
    return "NEAREST BY is left to Spark: " + reason;
  }

  @Override
  protected List<Object> fields() {
    return List.of(reason, child);
  }
}
