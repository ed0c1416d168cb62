package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Replaces {@link PlannedExchangeExec} by Spark's shuffles: after Spark has decided whether a plan
 * is adaptive, and before it looks for shuffles that are used twice.
 */
public final class PlannedExchanges extends ColumnarRule {
  /**
   * A rule for adaptive plans, before they are cut into stages: replaces equal placeholders by
   * Spark's shuffles, so that Spark runs one shuffle for all of them.
   */
  public static Rule<SparkPlan> ofEqualPlaces() {
    return new ReplaceEqual();
  }

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

  private static final class ReplaceEqual extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      List<SparkPlan> places = new ArrayList<>();
      collect(plan, places);
      if (places.size() < 2) {
        return plan;
      }
      Set<SparkPlan> once = new HashSet<>();
      Set<SparkPlan> equal = new HashSet<>();
      for (SparkPlan place : places) {
        if (!once.add(place.canonicalized())) {
          equal.add(place.canonicalized());
        }
      }
      return equal.isEmpty()
          ? plan
          : plan.transformDown(
              ScalaInterop.partialFunction(
                  node ->
                      node instanceof PlannedExchangeExec && equal.contains(node.canonicalized())
                          ? PlannedExchangeExec.replaced(node)
                          : Optional.empty()));
    }

    private static void collect(SparkPlan plan, List<SparkPlan> places) {
      if (plan instanceof PlannedExchangeExec) {
        places.add(plan);
      }
      ScalaInterop.<SparkPlan>list(plan.children()).forEach(child -> collect(child, places));
    }
  }
}
