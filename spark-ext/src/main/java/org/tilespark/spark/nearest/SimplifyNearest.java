package org.tilespark.spark.nearest;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.PushedConditions;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Removes work around joins of nearest vectors: conditions on the left side's columns move below
 * the join, and unused vectors are not joined to the results. Conditions on the right side stay
 * above, since fewer right rows would change the results.
 */
public final class SimplifyNearest extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node ->
                node instanceof Filter filter
                    ? pushed(filter)
                    : node instanceof Project project ? pruned(project) : Optional.empty()));
  }

  private static Optional<LogicalPlan> pushed(Filter filter) {
    if (filter.child() instanceof LeftToSpark spark) {
      return PushedConditions.push(
          filter,
          Optional::of,
          below -> new LeftToSpark(spark.reason(), new Filter(below, spark.child())));
    }
    return filter.child() instanceof NearestRows join
        ? PushedConditions.push(
            leftFirst(filter, join),
            condition -> isOfLeft(condition, join) ? Optional.of(condition) : Optional.empty(),
            below -> join.withLeft(new Filter(below, join.side(false))))
        : Optional.empty();
  }

  private static boolean isOfLeft(Expression condition, NearestRows join) {
    return condition.deterministic()
        && condition.references().subsetOf(join.side(false).outputSet());
  }

  /** The filter with conditions on the left side before others, as Spark does below its joins. */
  private static Filter leftFirst(Filter filter, NearestRows join) {
    List<Expression> conditions = new ArrayList<>(PushedConditions.conjuncts(filter.condition()));
    conditions.sort(Comparator.comparing(condition -> !isOfLeft(condition, join)));
    return (Filter) PushedConditions.filtered(join, conditions);
  }

  /** The projection over a join, or over a filter of its rows, without unused columns. */
  private static Optional<LogicalPlan> pruned(Project project) {
    if (project.child() instanceof NearestRows join) {
      return join.reading(project.references())
          .map(child -> new Project(project.projectList(), child));
    }
    return project.child() instanceof Filter filter && filter.child() instanceof NearestRows join
        ? join.reading(project.references().$plus$plus(filter.references()))
            .map(child -> new Filter(filter.condition(), child))
            .map(child -> new Project(project.projectList(), child))
        : Optional.empty();
  }
}
