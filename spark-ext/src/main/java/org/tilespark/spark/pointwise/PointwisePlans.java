package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.LeftOuter$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.tilespark.spark.aggregate.BlockColumnSums;
import org.tilespark.spark.aggregate.ColumnMeans;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockArguments;

/**
 * The logical plans of the operators that compute with each element of a matrix or volume. They
 * consist of Spark's own nodes where Spark's joins and aggregates do what is needed.
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
    BlockArguments arguments = arguments(operand);
    return operand.replaced(
        plane ->
            new ScaleBlock(arguments, plane, alpha, ScalaInterop.<Expression>seq(operand.block())),
        operand.metadata(),
        a);
  }

  /**
   * The sums of two arrays.
   *
   * @param missing what an element is that an array has in no block
   * @param asDataset makes a DataFrame of a plan
   * @throws IllegalArgumentException if one has no such blocks of FLOAT or DOUBLE, or they differ
   *     in type, stated extents or further columns, or are spectra that do not fit each other
   */
  public static LogicalPlan add(
      LogicalPlan a,
      LogicalPlan b,
      BlockKind kind,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    Agreement agreement = Agreement.of(a, b, kind, operator);
    agreement.requireEquallyComplex();
    agreement.require();
    return CombineBlocks.of(Combination.ADD, agreement, missing, asDataset);
  }

  /**
   * The products of the elements of two volumes at equal places.
   *
   * @param asDataset makes a DataFrame of a plan
   * @throws IllegalArgumentException if one has no volume blocks of FLOAT or DOUBLE, or they differ
   *     in type, stated extents, the transforms that made them, or further columns
   */
  public static LogicalPlan multiply(
      LogicalPlan a,
      LogicalPlan b,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      String operator) {
    Agreement agreement = Agreement.of(a, b, BlockKind.VOLUME, operator);
    agreement.require();
    return CombineBlocks.of(Combination.MULTIPLY, agreement, Missing.ERROR, asDataset);
  }

  /**
   * The matrix with the mean of each column taken off it: one aggregate over the blocks, whose
   * result is broadcast, and a projection.
   *
   * @throws IllegalArgumentException if {@code a} has no matrix blocks of FLOAT or DOUBLE
   */
  public static LogicalPlan center(LogicalPlan a, String operator) {
    BlockFrame matrix = BlockFrame.combined(a, BlockKind.MATRIX, operator, "");
    BlockArguments arguments = arguments(matrix);
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
            matrix.metadata(),
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

  private static BlockArguments arguments(BlockFrame frame) {
    return BlockArguments.of(frame.blocks(), frame.operator(), frame.extents(), Missing.ERROR);
  }
}
