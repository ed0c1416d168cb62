package org.tilespark.spark.catalyst;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/**
 * Inserts {@link UncountedRows} above a node that holds exchanges.
 *
 * <p>This rule runs after all other rules of ours, which look for these nodes below their own.
 */
public final class HideCounts extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(ScalaInterop.partialFunction(HideCounts::hidden));
  }

  private static Optional<LogicalPlan> hidden(LogicalPlan reader) {
    List<LogicalPlan> children = ScalaInterop.list(reader.children());
    return reader instanceof UncountedRows || children.stream().noneMatch(HideCounts::holds)
        ? Optional.empty()
        : Optional.of(
            reader.withNewChildren(
                ScalaInterop.seq(
                    children.stream()
                        .map(child -> holds(child) ? new UncountedRows(child) : child)
                        .toList())));
  }

  private static boolean holds(LogicalPlan plan) {
    return plan instanceof LogicalBlockNode node && node.holdsExchanges();
  }
}
