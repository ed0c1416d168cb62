package org.tilespark.spark.reblock;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.GivesPlaces;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.exchange.MarkCells;

/**
 * Keeps the check of all places of a re-block's input only if it is cheap. The places of blocks
 * that a re-block made are those that its {@link MarkCells} lists. Where other places cannot be
 * read without computing all of the input again, the check is dropped, and each block is checked by
 * itself only.
 *
 * <p>This rule runs once, after Spark has removed the columns that nobody reads.
 */
public final class CheapChecks extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node ->
                node instanceof CheckedBlocks checked && checked.grid().isDefined()
                    ? cheap(checked)
                    : Optional.empty()));
  }

  /** The node with a cheap check or none; empty if it need not change. */
  private static Optional<LogicalPlan> cheap(CheckedBlocks checked) {
    List<LogicalPlan> checks = ScalaInterop.list(checked.checks());
    if (checks.isEmpty()) {
      return Optional.empty();
    }
    LogicalPlan check =
        checks
            .get(0)
            .transformUp(
                ScalaInterop.partialFunction(
                    node ->
                        node instanceof GivesPlaces blocks ? blocks.places() : Optional.empty()));
    boolean readsValues = // of a re-block, in a condition, say
        check.exists(ScalaInterop.function(node -> !node.missingInput().isEmpty()));
    return Optional.of(
        !readsValues
                && check instanceof Aggregate places
                && LogicalBlockNode.coordinatesAreCheap(places.child())
            ? checked.withChecks(check)
            : checked.withoutChecks());
  }
}
