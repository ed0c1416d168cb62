package org.tilespark.spark.multiply.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ShiftLeft;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataTypes;
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
 * unused. Only coordinate columns are read. If these cannot be read without computing the values,
 * the rule does nothing, and a broadcast's partial blocks of C are shuffled instead, or both
 * operands if C is reduced. If the operand consists of alternating parts of complex numbers, the
 * coordinates of the complex blocks are read.
 */
public final class WatchPlaces extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node -> node instanceof MultiplyBlocks product ? watched(product) : Optional.empty()));
  }

  /** The product with that scan; empty if it should have none, or has one already. */
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
    int operand = right ? 1 : 0;
    OperandSource parts =
        new OperandSource(product.operands().get(operand), product.inputs(operand));
    OperandSource read = parts.belowParts().orElse(parts);
    return LogicalBlockNode.coordinatesAreCheap(read.plan())
        ? Optional.of(product.watching(places(spec, read, right, read != parts)))
        : Optional.empty();
  }

  /**
   * The coordinates in {@link PlaceColumn}'s order, then the grouping columns.
   *
   * @param ofNumbers true if {@code read} has complex numbers, each of which is two elements along
   *     M or N
   */
  private static Project places(
      MultiplySpec spec, OperandSource read, boolean right, boolean ofNumbers) {
    List<Attribute> columns = read.columns();
    boolean innerIsRow = spec.innerIsRow(right);
    List<Column> order =
        innerIsRow
            ? List.of(Column.COL, Column.COLS, Column.ROW, Column.ROWS)
            : List.of(Column.ROW, Column.ROWS, Column.COL, Column.COLS);
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < PlaceColumn.COUNT; i++) {
      PlaceColumn place = PlaceColumn.values()[i];
      Attribute column = columns.get(order.get(i).ordinal());
      boolean isOuter = place == PlaceColumn.OUTER || place == PlaceColumn.OUTER_EXTENT;
      list.add(
          Attributes.alias(
              isOuter && ofNumbers ? doubled(column) : column,
              place.name().toLowerCase(Locale.ROOT)));
    }
    for (Attribute group : columns.subList(Column.COUNT, columns.size())) {
      list.add(Attributes.alias(group, group.name()));
    }
    return new Project(ScalaInterop.seq(list), read.plan());
  }

  /**
   * Twice a number; for an invalid block the result does not matter, since its values are refused.
   */
  private static Expression doubled(Attribute column) {
    return new ShiftLeft(column, new Literal(1, DataTypes.IntegerType));
  }
}
