package org.tilespark.spark.exchange;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Puts Spark's shuffles in the places of {@link PlannedExchangeExec}: when Spark has decided
 * whether a plan is adaptive, and before it looks for shuffles that are used twice.
 */
public final class PlannedExchanges extends ColumnarRule {
  @Override
  public Rule<SparkPlan> preColumnarTransitions() {
    return new Replace();
  }

  private static final class Replace extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      return plan.transformUp(ScalaInterop.partialFunction(PlannedExchangeExec::replaced));
    }
  }
}
