package org.tilespark.spark.catalyst;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Conditions of filters that move below a node. */
public final class PushedConditions {
  private PushedConditions() {}

  /**
   * Pushes those conditions of a filter below a node that can be expressed in terms of the node's
   * input, and keeps a filter of the others above; empty if no condition can be pushed.
   *
   * @param moved gives a condition in terms of the node's input; empty if that is impossible
   * @param onto makes the node above its input, which is then filtered
   */
  public static Optional<LogicalPlan> push(
      Filter filter,
      Function<Expression, Optional<Expression>> moved,
      Function<Expression, LogicalPlan> onto) {
    List<Expression> below = new ArrayList<>();
    List<Expression> above = new ArrayList<>();
    for (Expression condition : conjuncts(filter.condition())) {
      boolean movable =
          above.isEmpty() // keep the order in which conditions that may fail are evaluated
              && condition.deterministic()
              && !SubqueryExpression$.MODULE$.hasSubquery(condition);
      Optional<Expression> inBelow = movable ? moved.apply(condition) : Optional.empty();
      inBelow.ifPresentOrElse(below::add, () -> above.add(condition));
    }
    return below.isEmpty()
        ? Optional.empty()
        : Optional.of(filtered(onto.apply(all(below)), above));
  }

  /** The conditions that a condition joins by AND. */
  public static List<Expression> conjuncts(Expression condition) {
    return split(condition).toList();
  }

  private static Stream<Expression> split(Expression condition) {
    return condition instanceof And and
        ? Stream.concat(split(and.left()), split(and.right()))
        : Stream.of(condition);
  }

  /** A plan's rows that satisfy all conditions; the plan itself if there are none. */
  public static LogicalPlan filtered(LogicalPlan plan, List<Expression> conditions) {
    return conditions.isEmpty() ? plan : new Filter(all(conditions), plan);
  }

  private static Expression all(List<Expression> conditions) {
    return conditions.stream().reduce(And::new).orElseThrow();
  }
}
