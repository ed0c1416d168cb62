package org.tilespark.spark.multiply.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.multiply.MultiplyBlocks;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.MultiplyBlocks.PlaceColumn;
import org.tilespark.spark.multiply.MultiplySpec;
import org.tilespark.spark.options.MultiplyOptions;

/**
 * Adds a scan of the larger operand's block coordinates to a product that a broadcast may compute.
 * The broadcast finds missing blocks by it; a product that is planned in another way leaves it
 * unused. Only coordinate columns are read. Where these cannot be had without computing the values,
 * the rule does nothing, and a broadcast's partial blocks of C are shuffled instead; where C is
 * reduced, both operands are.
 */
public final class WatchPlaces extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node -> node instanceof MultiplyBlocks product ? watched(product) : Optional.empty()));
  }

  /** The product that watches; empty if it should not, or does already. */
  private static Optional<MultiplyBlocks> watched(MultiplyBlocks product) {
    MultiplySpec spec = product.spec();
    boolean right = spec.largerIsRight();
    if (spec.gram()
        || spec.strategy() instanceof MultiplyOptions.Strategy.Cuboid
        || product.isCovered()
        || !spec.side(right).spans()
        || !spec.side(right).stated() && spec.reduction().isEmpty()) {
      return Optional.empty();
    }
    LogicalPlan larger = product.operands().get(right ? 1 : 0);
    return LogicalBlockNode.coordinatesAreCheap(larger)
        ? Optional.of(product.watching(places(product, larger, right)))
        : Optional.empty();
  }

  /** The coordinates, as {@link PlaceColumn} has them, then the grouping columns. */
  private static Project places(MultiplyBlocks product, LogicalPlan larger, boolean right) {
    List<Attribute> columns = product.inputs(right ? 1 : 0);
    boolean innerIsRow = product.spec().innerIsRow(right);
    List<Column> order =
        innerIsRow
            ? List.of(Column.COL, Column.COLS, Column.ROW, Column.ROWS)
            : List.of(Column.ROW, Column.ROWS, Column.COL, Column.COLS);
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < PlaceColumn.COUNT; i++) {
      list.add(
          Attributes.alias(
              columns.get(order.get(i).ordinal()),
              PlaceColumn.values()[i].name().toLowerCase(Locale.ROOT)));
    }
    for (Attribute group : columns.subList(Column.COUNT, columns.size())) {
      list.add(Attributes.alias(group, group.name()));
    }
    return new Project(ScalaInterop.seq(list), larger);
  }
}
