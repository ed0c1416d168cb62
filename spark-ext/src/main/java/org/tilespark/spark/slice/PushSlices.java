package org.tilespark.spark.slice;

import java.util.ArrayList;
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
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.PushedConditions;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.stage.ProgramBlocks;
import org.tilespark.spark.stage.StageSpec;

/**
 * Moves the conditions of slices below programs that treat each block separately, in terms of their
 * input: below another slice they are combined with its conditions; below a transform only those of
 * untransformed axes move; below a program of several arrays they apply to all of them.
 */
public final class PushSlices extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        ScalaInterop.partialFunction(
            node ->
                node instanceof Filter filter && filter.child() instanceof ProgramBlocks program
                    ? pushed(filter, program)
                    : Optional.empty()));
  }

  private static Optional<LogicalPlan> pushed(Filter filter, ProgramBlocks program) {
    if (program.spec().takesEachBlock()) {
      return PushedConditions.push(
          filter,
          condition -> moved(condition, program, 0),
          below -> over(program, List.of(new Filter(below, program.child()))));
    }
    return program.spec().takesBlocksThatMeet() ? pushedToAll(filter, program) : Optional.empty();
  }

  /**
   * The filter moved below all inputs of a program, whose blocks have the same cuts and must stay
   * together.
   */
  private static Optional<LogicalPlan> pushedToAll(Filter filter, ProgramBlocks program) {
    List<Expression> conditions = PushedConditions.conjuncts(filter.condition());
    List<Expression> above = new ArrayList<>();
    List<LogicalPlan> children = ScalaInterop.list(program.children());
    for (Expression condition : conditions) {
      List<LogicalPlan> filtered = new ArrayList<>();
      for (int input = 0; input < children.size(); input++) {
        Optional<Expression> below =
            condition instanceof MeetsRange meets
                ? moved(meets.ofSeveral(), program, input)
                : Optional.empty();
        LogicalPlan child = children.get(input);
        below.ifPresent(each -> filtered.add(new Filter(each, child)));
      }
      if (filtered.size() == children.size()) {
        children = filtered;
      } else {
        above.add(condition);
      }
    }
    return above.size() == conditions.size()
        ? Optional.empty()
        : Optional.of(PushedConditions.filtered(over(program, children), above));
  }

  private static LogicalPlan over(ProgramBlocks program, List<LogicalPlan> children) {
    return program.withNewChildren(ScalaInterop.<LogicalPlan>seq(children));
  }

  private static Optional<Expression> moved(Expression condition, ProgramBlocks node, int input) {
    return condition instanceof MeetsRange meets ? moved(meets, node, input) : Optional.empty();
  }

  private static Optional<Expression> moved(MeetsRange meets, ProgramBlocks node, int input) {
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
    if (meets.isOfSeveral() && program.cutAxes().whole().contains(from)) {
      return Optional.empty(); // no block would be left out by the condition
    }
    boolean isAll =
        program.extents().known().map(known -> range.isAll(known.extent(from))).orElse(false);
    BlockSchema blocks = spec.inputs().get(input).blocks();
    return Optional.of(
        isAll
            ? Literal.TrueLiteral()
            : meets.with(
                range,
                node.inputs().apply(blocks.offsets().get(from)),
                node.inputs().apply(blocks.sizes().get(from))));
  }

  private static int axis(
      Optional<Attribute> column, List<Attribute> columns, List<Integer> positions) {
    return column.map(each -> positions.indexOf(Attributes.indexOf(columns, each))).orElse(-1);
  }
}
