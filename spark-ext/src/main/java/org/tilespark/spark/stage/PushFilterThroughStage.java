package org.tilespark.spark.stage;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.CarriesColumns;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;

/**
 * Moves conditions on places, sizes and further columns below an operator that takes block by
 * block, in terms of its input, so that blocks nobody wants are neither read nor computed. Below a
 * check, all conditions are moved.
 */
public final class PushFilterThroughStage extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node -> node instanceof Filter filter ? push(filter) : Optional.empty()));
  }

  private static Optional<LogicalPlan> push(Filter filter) {
    if (filter.child() instanceof CarriesColumns carrier && carrier.carriesColumns()) {
      return push(
          filter,
          carrier::source,
          below ->
              filter
                  .child()
                  .withNewChildren(
                      ScalaInterop.<LogicalPlan>seq(new Filter(below, carrier.child()))));
    }
    if (filter.child() instanceof CheckedBlocks checked) {
      return push(
          filter, Optional::of, below -> checked.withBlocks(new Filter(below, checked.blocks())));
    }
    return Optional.empty();
  }

  /**
   * Moves what can be moved; empty if nothing can.
   *
   * @param source what a column of the node is called below it; empty if it is made there
   * @param onto the node over what is left by a condition
   */
  private static Optional<LogicalPlan> push(
      Filter filter,
      Function<Attribute, Optional<? extends Expression>> source,
      Function<Expression, LogicalPlan> onto) {
    List<Expression> below = new ArrayList<>();
    List<Expression> above = new ArrayList<>();
    for (Expression condition : conjuncts(filter.condition()).toList()) {
      boolean movable =
          above.isEmpty() // keep the order in which conditions that may fail are evaluated
              && condition.deterministic()
              && !SubqueryExpression$.MODULE$.hasSubquery(condition);
      Optional<Expression> moved =
          movable ? Attributes.renamed(condition, source) : Optional.empty();
      moved.ifPresentOrElse(below::add, () -> above.add(condition));
    }
    if (below.isEmpty()) {
      return Optional.empty();
    }
    LogicalPlan pushed = onto.apply(below.stream().reduce(And::new).orElseThrow());
    return Optional.of(
        above.stream()
            .reduce(And::new)
            .<LogicalPlan>map(condition -> new Filter(condition, pushed))
            .orElse(pushed));
  }

  private static Stream<Expression> conjuncts(Expression condition) {
    return condition instanceof And and
        ? Stream.concat(conjuncts(and.left()), conjuncts(and.right()))
        : Stream.of(condition);
  }
}
