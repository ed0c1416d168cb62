package org.tilespark.spark.stage;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.CarriesColumns;
import org.tilespark.spark.catalyst.PushedConditions;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;

/**
 * Moves conditions on places, sizes and further columns below an operator that processes block by
 * block, in terms of its input, so that unneeded blocks are neither read nor computed. Below a
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
      return PushedConditions.push(
          filter,
          condition -> Attributes.renamed(condition, carrier::source),
          below ->
              filter
                  .child()
                  .withNewChildren(
                      ScalaInterop.<LogicalPlan>seq(new Filter(below, carrier.child()))));
    }
    if (filter.child() instanceof CheckedBlocks checked) {
      return PushedConditions.push(
          filter, Optional::of, below -> checked.withBlocks(new Filter(below, checked.blocks())));
    }
    return Optional.empty();
  }
}
