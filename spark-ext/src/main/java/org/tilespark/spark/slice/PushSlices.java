package org.tilespark.spark.slice;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.ArrayProgram.Along;
import org.tilespark.layout.AxisRange;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.PushedConditions;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.stage.ProgramBlocks;
import org.tilespark.spark.stage.StageSpec;

/**
 * Moves the conditions of slices below programs that treat each block by itself, in terms of their
 * input: below a slice as those of both slices, below a transform as those of the axes that are not
 * transformed.
 */
public final class PushSlices extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node ->
                node instanceof Filter filter
                        && filter.child() instanceof ProgramBlocks program
                        && program.spec().takesEachBlock()
                    ? PushedConditions.push(
                        filter,
                        condition -> moved(condition, program),
                        below ->
                            program.withNewChildren(
                                ScalaInterop.<LogicalPlan>seq(new Filter(below, program.child()))))
                    : Optional.empty()));
  }

  private static Optional<Expression> moved(Expression condition, ProgramBlocks node) {
    return condition instanceof MeetsRange meets ? moved(meets, node) : Optional.empty();
  }

  private static Optional<Expression> moved(MeetsRange meets, ProgramBlocks node) {
    StageSpec spec = node.spec();
    List<Attribute> produced = ScalaInterop.list(node.produced());
    int axis = axis(meets.offset(), produced, spec.out().offsets());
    if (axis < 0 || axis != axis(meets.size(), produced, spec.out().sizes())) {
      return Optional.empty();
    }
    ArrayProgram program = spec.program();
    Optional<Along> needed = program.needed(new Along(axis, meets.range()));
    if (needed.isEmpty()) {
      return Optional.of(Literal.FalseLiteral());
    }
    int from = needed.get().axis();
    AxisRange range = needed.get().range();
    boolean isAll =
        program.extents().known().map(known -> range.isAll(known.extent(from))).orElse(false);
    return Optional.of(
        isAll
            ? Literal.TrueLiteral()
            : MeetsRange.of(
                range,
                node.inputs().apply(spec.first().blocks().offsets().get(from)),
                node.inputs().apply(spec.first().blocks().sizes().get(from))));
  }

  private static int axis(
      Optional<Attribute> column, List<Attribute> columns, List<Integer> positions) {
    return column.map(each -> positions.indexOf(Attributes.indexOf(columns, each))).orElse(-1);
  }
}
