package org.tilespark.spark.linalg;

import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.BackendPlanner;

/**
 * Chooses the backend of each {@link FactorExpression} by the session's configuration when the
 * query is optimized, as tilespark's physical nodes choose theirs when it is planned.
 */
public final class ChooseFactorizers extends Rule<LogicalPlan> {
  private final SparkContext context;

  /** The rule for one session. */
  public ChooseFactorizers(SparkSession session) {
    this.context = session.sparkContext();
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return (LogicalPlan)
        plan.transformAllExpressions(
            ScalaInterop.<Expression, Expression>partialFunction(
                node ->
                    node instanceof FactorExpression factors
                            && factors.backend().equals(BackendChoice.NOT_YET)
                        ? Optional.of(factors.with(chosen(factors)))
                        : Optional.empty()));
  }

  private BackendChoice chosen(FactorExpression factors) {
    Backend requested = TileSparkConf.BACKEND.read(TileSparkConf.session());
    return factors.belongsToOthers()
        ? BackendPlanner.forPartsOfFactors(requested, context)
        : BackendPlanner.chooseForFactors(requested, context);
  }
}
