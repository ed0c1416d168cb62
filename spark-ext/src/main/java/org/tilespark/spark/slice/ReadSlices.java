package org.tilespark.spark.slice;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.LongStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.StoredInBlocks;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.PushedConditions;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Turns the conditions of slices that have reached a source into conditions that the source can
 * use:
 *
 * <table> <caption>Treatment of a condition</caption>
 * <tr><td>over an array that one of our sources reads
 *   <td>offsets of the blocks with elements of the slice; the filter itself is removed
 * <tr><td>over another source
 *   <td>the condition, and the condition that a block begins before the slice ends, by which files can be skipped
 * <tr><td>over one of our own nodes
 *   <td>removed: the slice drops the blocks, in one stage with the node. But the condition of one of several combined arrays stays
 * </table>
 *
 * <p>This rule runs once, before Spark hands filters to sources.
 */
public final class ReadSlices extends Rule<LogicalPlan> {
  /**
   * Most offsets that are passed to a source one by one; beyond that, only the first and the last.
   */
  private static final int MOST_OFFSETS = 1000;

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformUp(
        ScalaInterop.partialFunction(
            node -> node instanceof Filter filter ? read(filter) : Optional.empty()));
  }

  private static Optional<LogicalPlan> read(Filter filter) {
    List<Expression> conditions = new ArrayList<>();
    boolean isSliced = false;
    for (Expression condition : PushedConditions.conjuncts(filter.condition())) {
      if (condition instanceof MeetsRange meets) {
        isSliced = true;
        conditions.addAll(over(filter.child(), meets));
      } else {
        conditions.add(condition);
      }
    }
    return isSliced
        ? Optional.of(PushedConditions.filtered(filter.child(), conditions))
        : Optional.empty();
  }

  private static List<Expression> over(LogicalPlan plan, MeetsRange meets) {
    Optional<Attribute> offset = meets.offset();
    if (plan instanceof LogicalBlockNode && !meets.isOfSeveral()) {
      return List.of();
    }
    if (offset.isEmpty()) {
      return List.of(meets);
    }
    Optional<Shape> blocks = storedShape(plan);
    OptionalInt axis =
        blocks.isEmpty() ? OptionalInt.empty() : axis(offset.get().name(), blocks.get().rank());
    if (axis.isPresent()) {
      return offsets(meets.range(), offset.get(), blocks.get().extent(axis.getAsInt()));
    }
    return plan instanceof DataSourceV2Relation || plan instanceof LogicalRelation
        ? List.of(beginsUpTo(offset.get(), meets.range().high()), meets)
        : List.of(meets);
  }

  /** The shape of the blocks that a plan reads from one of our sources. */
  private static Optional<Shape> storedShape(LogicalPlan plan) {
    return plan instanceof DataSourceV2Relation relation
            && relation.table() instanceof StoredInBlocks stored
        ? stored.blockShape()
        : Optional.empty();
  }

  /** The axis of an offset column of an array of this rank; empty if the column is none. */
  private static OptionalInt axis(String column, int rank) {
    return Arrays.stream(BlockKind.values())
        .filter(kind -> kind.rank() == rank)
        .mapToInt(kind -> kind.offsetColumns().indexOf(column))
        .filter(axis -> axis >= 0)
        .findFirst();
  }

  /**
   * The offsets of blocks with elements of a range, if blocks begin at every multiple of {@code
   * block}.
   */
  private static List<Expression> offsets(AxisRange range, Attribute offset, long block) {
    long first = range.low() / block * block;
    long last = range.high() / block * block;
    if (Math.abs(range.step()) > block && range.count() <= MOST_OFFSETS) {
      return List.of(
          new In(
              offset,
              ScalaInterop.seq(
                  LongStream.range(0, range.count())
                      .map(i -> range.at(i) / block * block)
                      .distinct()
                      .mapToObj(ReadSlices::literal)
                      .toList())));
    }
    return first == last
        ? List.of(new EqualTo(offset, literal(first)))
        : List.of(
            new GreaterThanOrEqual(offset, literal(first)),
            new LessThanOrEqual(offset, literal(last)));
  }

  private static Expression beginsUpTo(Attribute offset, long last) {
    Expression begins = new LessThanOrEqual(offset, literal(last));
    return offset.nullable() ? new Or(begins, new IsNull(offset)) : begins;
  }

  private static Expression literal(long value) {
    return new Literal(value, DataTypes.LongType);
  }
}
