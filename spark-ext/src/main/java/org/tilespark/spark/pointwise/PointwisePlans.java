package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.FullOuter$;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.BlockColumnSums;
import org.tilespark.spark.aggregate.ColumnMeans;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.ReblockPlans;
import org.tilespark.spark.rows.BlockArguments;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The logical plans of the operators that compute with each element of a matrix or volume. They
 * consist of Spark's own nodes, so that Spark plans their joins and aggregates.
 */
public final class PointwisePlans {
  private PointwisePlans() {}

  /**
   * Each value times {@code alpha}.
   *
   * @throws IllegalArgumentException if {@code a} has no such blocks of FLOAT or DOUBLE
   */
  public static LogicalPlan scale(LogicalPlan a, BlockKind kind, double alpha, String operator) {
    BlockFrame operand = BlockFrame.of(a, kind, operator).requireNumbers();
    BlockArguments arguments = arguments(operand, operand.extents(), Missing.ERROR);
    return operand.replaced(
        plane ->
            new ScaleBlock(arguments, plane, alpha, ScalaInterop.<Expression>seq(operand.block())),
        operand.extents(),
        a);
  }

  /**
   * The sums of two arrays, as an outer join of their blocks on place and further columns. Where
   * the metadata says that they are cut differently, the second is cut as the first is.
   *
   * @param missing what a block is that only the other array has
   * @throws IllegalArgumentException if one has no such blocks of FLOAT or DOUBLE, or they differ
   *     in type, stated extents or further columns, or are spectra that do not fit each other
   */
  public static LogicalPlan add(
      LogicalPlan a, LogicalPlan b, BlockKind kind, Missing missing, String operator) {
    BlockFrame plainFirst = BlockFrame.combined(a, kind, operator, "");
    BlockFrame asGiven = BlockFrame.combined(b, kind, operator, "");
    Agreement agreement = new Agreement(plainFirst, asGiven, operator);
    agreement.requireEquallyComplex();
    agreement.require();
    agreement.partners();
    BlockFrame plainSecond = cutAs(plainFirst, asGiven, missing);
    Optional<Shape> extents = plainFirst.extents().or(plainSecond::extents);

    // Fresh ids for the second: the first may be the same DataFrame.
    NamedExpression hasFirst =
        Attributes.alias(Literal.create(true, DataTypes.BooleanType), "has_first");
    NamedExpression hasSecond =
        Attributes.alias(Literal.create(true, DataTypes.BooleanType), "has_second");
    List<NamedExpression> firstColumns = new ArrayList<>(plainFirst.columns());
    firstColumns.add(hasFirst);
    List<NamedExpression> secondColumns = new ArrayList<>();
    for (Attribute column : plainSecond.columns()) {
      secondColumns.add(Attributes.alias(column, column.name(), column.metadata()));
    }
    BlockFrame second =
        new BlockFrame(
            operator,
            plainSecond.plan(),
            secondColumns.stream().map(NamedExpression::toAttribute).toList(),
            plainSecond.blocks());
    secondColumns.add(hasSecond);

    Expression samePlace = new EqualTo(plainFirst.offset(0), second.offset(0));
    for (int axis = 1; axis < kind.rank(); axis++) {
      samePlace = new And(samePlace, new EqualTo(plainFirst.offset(axis), second.offset(axis)));
    }
    for (Attribute column : plainFirst.further()) {
      Attribute partner = GroupingColumns.named(second.further(), column).orElseThrow();
      samePlace = new And(samePlace, new EqualNullSafe(column, partner));
    }
    LogicalPlan join =
        new Join(
            new Project(ScalaInterop.seq(firstColumns), a),
            new Project(ScalaInterop.seq(secondColumns), plainSecond.plan()),
            FullOuter$.MODULE$,
            Option.apply(samePlace),
            JoinHint.NONE());
    BlockArguments arguments = arguments(plainFirst, extents, missing);
    Seq<Expression> children =
        ScalaInterop.seq(
            Stream.<List<? extends Expression>>of(
                    List.of(hasFirst.toAttribute()),
                    plainFirst.block(),
                    List.of(hasSecond.toAttribute()),
                    second.block())
                .flatMap(List::stream)
                .toList());
    Project sums =
        plainFirst.replaced(plane -> new AddBlocks(arguments, plane, children), extents, join);

    return placed(plainFirst, second, sums);
  }

  /**
   * The sums of blocks, with place and further columns of whichever matrix has the block. Also
   * where both must have it: a condition on a column of the first matrix alone would keep the outer
   * join from giving the blocks that only the second has, and nobody would miss them.
   */
  private static LogicalPlan placed(BlockFrame first, BlockFrame second, Project sums) {
    List<NamedExpression> list = new ArrayList<>(ScalaInterop.list(sums.projectList()));
    List<Attribute> inFirst = first.block();
    List<Attribute> inSecond = second.block();
    for (int i = 0; i < list.size(); i++) {
      if (first.blocks().planes().contains(i)) {
        continue;
      }
      Attribute column = first.columns().get(i);
      int place = inFirst.indexOf(column);
      Attribute other =
          place < 0
              ? GroupingColumns.named(second.further(), column).orElseThrow()
              : inSecond.get(place);
      list.set(
          i,
          Attributes.alias(
              new Coalesce(ScalaInterop.<Expression>seq(column, other)),
              column.name(),
              column.metadata()));
    }
    return new Project(ScalaInterop.seq(list), sums.child());
  }

  /**
   * The matrix with the mean of each column taken off it: one aggregate over the blocks, whose
   * result is broadcast, and a projection.
   *
   * @throws IllegalArgumentException if {@code a} has no matrix blocks of FLOAT or DOUBLE
   */
  public static LogicalPlan center(LogicalPlan a, String operator) {
    BlockFrame matrix = BlockFrame.combined(a, BlockKind.MATRIX, operator, "");
    BlockArguments arguments = arguments(matrix, matrix.extents(), Missing.ERROR);
    LogicalPlan joined = a;
    List<Attribute> means = new ArrayList<>();
    for (int plane = 0; plane < matrix.blocks().planes().size(); plane++) {
      PerArray ranges = means(matrix, arguments, plane).inlined(ColumnMeans.RANGE);
      List<Attribute> range = ranges.facts();
      Expression sameColumns =
          new And(
              new EqualTo(matrix.offset(1), range.get(0)),
              new EqualTo(matrix.size(1), range.get(1)));
      joined =
          ranges.joinedTo(joined, matrix.further(), LeftOuter$.MODULE$, Optional.of(sameColumns));
      means.add(range.get(2));
    }
    LogicalPlan centered =
        matrix.replaced(
            plane -> {
              List<Expression> children = new ArrayList<>(matrix.block());
              children.add(means.get(plane));
              return new SubtractColumnMeans(arguments, plane, ScalaInterop.seq(children));
            },
            matrix.extents(),
            joined);
    // The means miss a block that is not there; without any block, nobody reads them in the join.
    return matrix.further().isEmpty() && matrix.extents().isPresent()
        ? CheckedBlocks.of(centered, means(matrix, arguments, 0).plan())
        : centered;
  }

  /** The further columns, then the means of each matrix, as {@link ColumnMeans} gives them. */
  private static PerArray means(BlockFrame matrix, BlockArguments arguments, int plane) {
    List<NamedExpression> summed = new ArrayList<>(matrix.further());
    NamedExpression sums =
        Attributes.alias(
            new BlockColumnSums(arguments, plane, ScalaInterop.<Expression>seq(matrix.block())),
            "sums");
    summed.add(sums);
    return PerArray.of(
        new Project(ScalaInterop.seq(summed), matrix.plan()),
        matrix.further(),
        new ColumnMeans(arguments, ScalaInterop.<Expression>seq(sums.toAttribute()), 0, 0),
        "ranges");
  }

  /** The second array in blocks of the first one's stated shape, if its own is stated too. */
  private static BlockFrame cutAs(BlockFrame first, BlockFrame second, Missing missing) {
    Optional<Shape> wanted = first.blockShape();
    Optional<Shape> found = second.blockShape();
    if (wanted.isEmpty() || found.isEmpty() || wanted.equals(found)) {
      return second;
    }
    return BlockFrame.of(
        ReblockPlans.reblock(
            second.plan(), first.kind(), wanted.get().toArray(), missing, second.operator()),
        first.kind(),
        second.operator());
  }

  private static BlockArguments arguments(
      BlockFrame frame, Optional<Shape> extents, Missing missing) {
    return BlockArguments.of(frame.blocks(), frame.operator(), extents, missing);
  }
}
