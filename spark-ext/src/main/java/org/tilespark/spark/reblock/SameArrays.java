package org.tilespark.spark.reblock;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.Attributes.Source;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.AssembleBlocks;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.exchange.MarkCells;
import org.tilespark.spark.exchange.PieceUnion;
import org.tilespark.spark.stage.ProgramBlocks;

/**
 * The check that two frames hold the same arrays, which further columns distinguish. It is for
 * operators that join an array to that of the other frame without comparing all places; without
 * this check an array without partner would be lost silently, or remain incomplete.
 */
public final class SameArrays {
  private SameArrays() {}

  /**
   * A result that is passed on only if both frames hold the same arrays. Without further columns,
   * or if both frames come from one plan, no check is needed.
   *
   * @param second the second frame, with the further columns of the first
   * @param operator operator's name, for messages
   */
  public static LogicalPlan required(
      LogicalPlan result, BlockFrame first, BlockFrame second, String operator) {
    List<Attribute> further = first.further();
    if (further.isEmpty()) {
      return result;
    }
    List<Attribute> partners =
        further.stream()
            .map(column -> GroupingColumns.named(second.further(), column).orElseThrow())
            .toList();
    Source one = lowest(new Source(first.plan(), further));
    Source two = lowest(new Source(second.plan(), partners));
    return projection(one, 0).sameResult(projection(two, 0))
        ? result
        : CheckedBlocks.of(result, check(one, two, first.kind().label(), operator));
  }

  private static LogicalPlan check(Source one, Source two, String label, String operator) {
    Union both =
        new Union(
            ScalaInterop.<LogicalPlan>seq(projection(one, 0), projection(two, 1)), false, false);
    List<Attribute> columns = ScalaInterop.list(both.output());
    List<Attribute> further = columns.subList(0, columns.size() - 1);
    Attribute side = columns.get(further.size());
    List<Expression> sides = new ArrayList<>();
    sides.add(new Min(side).toAggregateExpression());
    sides.add(new Max(side).toAggregateExpression());
    List<String> names = further.stream().map(Attribute::name).toList();
    List<Expression> children = new ArrayList<>(sides);
    children.addAll(further);
    NamedExpression hasPartner =
        Attributes.alias(
            new HasPartner(names, label, operator, ScalaInterop.seq(children)), "has_partner");
    return new Aggregate(
        ScalaInterop.<Expression>seq(further),
        ScalaInterop.<NamedExpression>seq(hasPartner),
        both,
        ScalaInterop.none());
  }

  /** The further columns under fresh ids, and a column with the number of the frame. */
  private static Project projection(Source source, int side) {
    List<NamedExpression> list = new ArrayList<>();
    source.columns().forEach(column -> list.add(Attributes.alias(column, column.name())));
    list.add(Attributes.alias(Literal.create(side, DataTypes.IntegerType), "side"));
    return new Project(ScalaInterop.seq(list), source.plan());
  }

  // ---- where the arrays come from

  /** The lowest plan that has the same arrays, which costs the least to compute. */
  private static Source lowest(Source source) {
    return below(source.plan(), source.columns()).map(SameArrays::lowest).orElse(source);
  }

  private static Optional<Source> below(LogicalPlan plan, List<Attribute> further) {
    if (plan instanceof Project project) {
      return Attributes.below(project, further).map(read -> new Source(project.child(), read));
    }
    if (plan instanceof SubqueryAlias named) {
      return Optional.of(new Source(named.child(), further));
    }
    if (plan instanceof CheckedBlocks checked) {
      return Optional.of(new Source(checked.blocks(), further));
    }
    if (plan instanceof Union union) {
      return same(union, further);
    }
    if (plan instanceof ProgramBlocks made) {
      List<Attribute> read = further.stream().flatMap(each -> made.source(each).stream()).toList();
      return read.size() == further.size()
          ? Optional.of(new Source(made.child(), read))
          : Optional.empty();
    }
    if (plan instanceof AssembleBlocks blocks
        && blocks.child() instanceof PieceUnion union
        && union.marks() instanceof MarkCells marks) {
      // A mark has the columns of a piece: keys, then those of a block.
      List<Attribute> produced = ScalaInterop.list(blocks.produced());
      List<Attribute> marked = ScalaInterop.list(marks.produced());
      List<Attribute> ofBlock = marked.subList(marked.size() - produced.size(), marked.size());
      return Attributes.counterparts(further, produced, ofBlock)
          .flatMap(read -> named(marks, read))
          .flatMap(read -> grouped(marks.child(), read));
    }
    return Optional.empty();
  }

  /** The common source of all branches of a union, if there is one. */
  private static Optional<Source> same(Union union, List<Attribute> further) {
    List<Attribute> given = ScalaInterop.list(union.output());
    List<Source> all =
        ScalaInterop.<LogicalPlan>list(union.children()).stream()
            .map(
                child ->
                    new Source(
                        child,
                        Attributes.counterparts(further, given, ScalaInterop.list(child.output()))
                            .orElseThrow()))
            .map(SameArrays::lowest)
            .toList();
    Source first = all.get(0);
    return all.stream().allMatch(each -> projection(first, 0).sameResult(projection(each, 0)))
        ? Optional.of(first)
        : Optional.empty();
  }

  /**
   * The columns of the marked arrays, found by the names of the marks' columns; empty if a
   * projection has computed one of these.
   */
  private static Optional<List<Attribute>> named(MarkCells marks, List<Attribute> columns) {
    List<Attribute> arrays = ScalaInterop.list(marks.inputs());
    List<Attribute> found =
        columns.stream()
            .map(column -> GroupingColumns.named(arrays, column))
            .flatMap(Optional::stream)
            .toList();
    return Optional.of(found).filter(all -> all.size() == columns.size());
  }

  /** The source of the groups of an aggregate that gives one row per array. */
  private static Optional<Source> grouped(LogicalPlan arrays, List<Attribute> further) {
    if (!(arrays instanceof Aggregate aggregate)) {
      return Optional.empty();
    }
    List<NamedExpression> given = ScalaInterop.list(aggregate.aggregateExpressions());
    List<Integer> positions =
        further.stream()
            .map(column -> Attributes.indexOf(ScalaInterop.list(aggregate.output()), column))
            .toList();
    List<Attribute> read =
        IntStream.range(0, positions.size())
            .mapToObj(i -> given.get(positions.get(i)))
            .map(each -> each instanceof Alias alias ? alias.child() : (Expression) each)
            .filter(Attribute.class::isInstance)
            .map(Attribute.class::cast)
            .toList();
    return read.size() == further.size()
        ? Optional.of(new Source(aggregate.child(), read))
        : Optional.empty();
  }
}
