package org.tilespark.spark.reduce;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.KnownOperand;
import org.tilespark.spark.multiply.MultiplyPlans;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.pointwise.ExpressionPlans;
import org.tilespark.spark.pointwise.ExpressionPlans.Asked;
import org.tilespark.spark.pointwise.PointwisePlans;
import org.tilespark.spark.reduce.Formula.Complex;
import org.tilespark.spark.reduce.Formula.Result;
import org.tilespark.spark.slice.SlicePlans;
import org.tilespark.spark.slice.SliceText;

/**
 * Plans that combine reductions and other operators: diagonals, and statistics of the columns of a
 * matrix.
 */
public final class StatisticsPlans {
  private final LogicalPlan input;
  private final Function<LogicalPlan, Dataset<Row>> asDataset;
  private final String operator;
  private final BlockFrame frame;
  private final Shape extents;

  /**
   * Plans over a matrix.
   *
   * @param asDataset turns a plan into a DataFrame; extents that no metadata states are found by a
   *     small aggregate over the coordinates, which runs now
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if there are no matrix blocks
   */
  public StatisticsPlans(
      LogicalPlan input, Function<LogicalPlan, Dataset<Row>> asDataset, String operator) {
    KnownOperand operand =
        KnownOperand.of(input, BlockKind.MATRIX, Missing.ERROR, asDataset, operator);
    this.input = operand.plan();
    this.asDataset = asDataset;
    this.operator = operator;
    this.frame = operand.frame();
    this.extents = operand.extents();
  }

  private ReductionPlans.Call call(Optional<List<Integer>> axes) {
    return new ReductionPlans.Call(
        BlockKind.MATRIX, axes, Map.of("ddof", 0.0), asDataset, operator);
  }

  private ReductionPlans.Call ofColumns() {
    return call(Optional.of(List.of(0)));
  }

  // ---- diagonals

  /** The sum of the diagonal's elements: a row for each matrix. */
  public LogicalPlan trace() {
    return ReductionPlans.reduce(
        map(input, diagonal("0")), ArrayReduction.SUM, call(Optional.empty()));
  }

  /** The diagonal's elements as a matrix of one column. */
  public LogicalPlan diag() {
    Formula theOnlyOne =
        Formula.of(BaseReduction.SUM, "v").giving("r0", Result.SAME).taking(Complex.BY_PARTS);
    LogicalPlan computed =
        ReductionPlans.reduce(
            map(input, diagonal("-0.0")), theOnlyOne, call(Optional.of(List.of(1))));
    // The elements come from the matrix, so its file type can hold them.
    LogicalPlan column =
        frame.metadata().fileType().map(type -> withFileType(computed, type)).orElse(computed);
    long length = Math.min(extents.extent(0), extents.extent(1));
    return length == extents.extent(0)
        ? column
        : SlicePlans.slice(
            column,
            BlockKind.MATRIX,
            SliceText.parse(operator, "0:" + length, BlockKind.MATRIX),
            asDataset,
            operator);
  }

  private LogicalPlan withFileType(LogicalPlan blocks, String type) {
    BlockFrame computed = BlockFrame.of(blocks, BlockKind.MATRIX, operator);
    return computed.stating(computed.metadata().withFileType(type)).plan();
  }

  /** The expression that keeps elements on the diagonal and replaces others by {@code rest}. */
  private String diagonal(String rest) {
    boolean isBool =
        frame.metadata().fileType().equals(Optional.of(ArrayMetadata.BOOL))
            && !frame.blocks().isComplex();
    String other = isBool ? "FALSE" : isInteger() ? "0" : rest;
    return frame.blocks().isComplex()
        ? "if(row = col, v, complex(%s, %s))".formatted(other, other)
        : "if(row = col, v, %s)".formatted(other);
  }

  private boolean isInteger() {
    return switch (frame.blocks().elementType()) {
      case INT8, INT16, INT32, INT64 -> true;
      case FLOAT32, FLOAT64 -> false;
    };
  }

  // ---- columns

  /**
   * Subtracts from each column its mean, and divides it by its standard deviation if that is not 0.
   */
  public LogicalPlan standardize() {
    requireReal();
    LogicalPlan means = ReductionPlans.reduce(input, ArrayReduction.MEAN, ofColumns());
    LogicalPlan deviations = ReductionPlans.reduce(input, ArrayReduction.STD, ofColumns());
    // As scikit-learn: a column whose deviation is within the rounding error of its mean counts as
    // constant, and is not divided.
    double rounding = Math.ulp(1.0) * extents.extent(0);
    LogicalPlan divisors = zip(deviations, means, "if(a <= abs(b) * %s, 1, a)".formatted(rounding));
    return zip(zip(input, means, "a - b"), divisors, "a / b");
  }

  /**
   * The covariances of the columns.
   *
   * @param ddof number that is subtracted from the count of rows before the division by it
   */
  public LogicalPlan cov(double ddof) {
    requireReal();
    double divisor = Math.max(0, extents.extent(0) - ddof);
    return map(gram(PointwisePlans.center(input, operator)), "v / " + divisor + "D");
  }

  /**
   * The correlations of the columns; NaN for constant ones. The diagonal is set to 1, since
   * rounding may give a neighbour of 1.
   */
  public LogicalPlan corrcoef() {
    requireReal();
    LogicalPlan centered = PointwisePlans.center(input, operator);
    LogicalPlan norms = ReductionPlans.norm(centered, Optional.of(Norm.TWO), ofColumns());
    return map(
        gram(zip(centered, norms, "a / b")), "if(row = col AND NOT isnan(v), 1, clip(v, -1, 1))");
  }

  private void requireReal() {
    frame.requireNumbers();
    if (frame.blocks().isComplex()) {
      throw new IllegalArgumentException(
          operator + ": the blocks are complex; expected real ones (which have no column imag)");
    }
  }

  private LogicalPlan gram(LogicalPlan a) {
    return MultiplyPlans.gram(a, MultiplyOptions.defaults(), asDataset, operator);
  }

  private LogicalPlan map(LogicalPlan a, String text) {
    return ExpressionPlans.map(a, BlockKind.MATRIX, new Asked(text, Map.of()), operator);
  }

  private LogicalPlan zip(LogicalPlan a, LogicalPlan b, String text) {
    return ExpressionPlans.zip(
        a, b, BlockKind.MATRIX, new Asked(text, Map.of()), Missing.ERROR, asDataset, operator);
  }
}
