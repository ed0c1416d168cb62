package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
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
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.Elementwise;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Extents;
import org.tilespark.layout.Shape;
import org.tilespark.spark.aggregate.BlockColumnSums;
import org.tilespark.spark.aggregate.ColumnMeans;
import org.tilespark.spark.aggregate.PerArray;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CheckedBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.CommonCut;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.stage.ProgramBlocks;
import org.tilespark.spark.stage.StageBranch;

/**
 * The logical plans of the operators that compute with each element of a matrix or volume. They
 * consist of Spark's own nodes where Spark's joins and aggregates suffice.
 */
public final class PointwisePlans {
  private PointwisePlans() {}

  /**
   * Each value times {@code alpha}.
   *
   * @throws IllegalArgumentException if {@code a} has no blocks of FLOAT or DOUBLE
   */
  public static LogicalPlan scale(LogicalPlan a, BlockKind kind, double alpha, String operator) {
    BlockFrame operand = BlockFrame.maybeHaloed(a, kind, operator).requireNumbers();
    ElementwiseProgram program = PointwisePrograms.scale(operand.blocks(), alpha);
    return of(
        List.of(StageBranch.of(operand, operand.further(), Missing.ERROR, operator)),
        operand,
        new Elementwise(program, "v * " + alpha),
        computed(operand));
  }

  /**
   * The sums of two arrays.
   *
   * @param missing treatment of elements that are in no block of an array
   * @param asDataset turns a plan into a DataFrame
   * @throws IllegalArgumentException if one has no blocks of FLOAT or DOUBLE, or they differ in
   *     type, stated extents or further columns, or are spectra that do not fit each other
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
    return combined(agreement, missing, asDataset, PointwisePrograms::add, "a + b");
  }

  /**
   * The products of the elements of two volumes at equal places.
   *
   * @param asDataset turns a plan into a DataFrame
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
    return combined(agreement, Missing.ERROR, asDataset, PointwisePrograms::multiply, "a * b");
  }

  /**
   * The plan that combines the elements of two arrays at equal places, after both have the same
   * tiling.
   */
  private static LogicalPlan combined(
      Agreement agreement,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset,
      BiFunction<BlockSchema, BlockSchema, ElementwiseProgram> program,
      String text) {
    CommonCut cut = CommonCut.of(agreement.first(), agreement.second(), missing, asDataset);
    BlockFrame a = cut.first();
    BlockFrame b = distinct(a, cut.second());
    Agreement cutAlike = new Agreement(a, b, agreement.operator());
    return of(
        List.of(
            StageBranch.of(a, a.further(), Missing.ERROR, agreement.operator()),
            StageBranch.of(b, cutAlike.partners(), Missing.ERROR, agreement.operator())),
        a,
        new Elementwise(
            program.apply(a.blocks(), b.blocks()),
            List.of(),
            List.of(program(b, Extents.of(a.extents(), a.kind().rank()), List.of())),
            text),
        cutAlike.combined().ofComputed(a.blocks().elementType(), isComplex(a) || isComplex(b)));
  }

  /** The second of two frames, with fresh columns if it shares some with the first. */
  static BlockFrame distinct(BlockFrame first, BlockFrame second) {
    return BlockFrame.of(
        Attributes.distinctFrom(first.plan(), second.plan()), first.kind(), second.operator());
  }

  private static boolean isComplex(BlockFrame frame) {
    return frame.blocks().isComplex();
  }

  /**
   * The plan of one elementwise step.
   *
   * @param first the blocks of the first branch
   * @param metadata metadata of the result
   */
  static LogicalPlan of(
      List<StageBranch> branches, BlockFrame first, Elementwise step, ArrayMetadata metadata) {
    Extents extents = Extents.of(first.extents(), first.kind().rank());
    return ProgramBlocks.of(
        branches, program(first, extents, List.of(step)), metadata.toMetadata(), Optional.empty());
  }

  /** The metadata of numbers of the same type that are computed from a frame's. */
  private static ArrayMetadata computed(BlockFrame frame) {
    return frame.metadata().ofComputed(frame.blocks().elementType(), isComplex(frame));
  }

  static ArrayProgram program(BlockFrame of, Extents extents, List<ArrayStep> steps) {
    return new ArrayProgram(extents, of.blocks().elementType(), of.blocks().isComplex(), steps);
  }

  /**
   * Subtracts from each column its mean: one aggregate over the blocks, whose result is broadcast,
   * and an elementwise step.
   *
   * @throws IllegalArgumentException if {@code a} has no matrix blocks of FLOAT or DOUBLE
   */
  public static LogicalPlan center(LogicalPlan a, String operator) {
    BlockFrame matrix = BlockFrame.combined(a, BlockKind.MATRIX, operator, "").requireNumbers();
    BlockArguments arguments = arguments(matrix);
    LogicalPlan joined = a;
    List<Attribute> high = new ArrayList<>();
    List<Attribute> low = new ArrayList<>();
    for (int plane = 0; plane < matrix.blocks().planes().size(); plane++) {
      PerArray ranges = means(matrix, arguments, plane).inlined(ColumnMeans.RANGE);
      List<Attribute> range = ranges.facts();
      Expression sameColumns =
          new And(
              new EqualTo(matrix.offset(1), range.get(0)),
              new EqualTo(matrix.size(1), range.get(1)));
      joined =
          ranges.joinedTo(joined, matrix.further(), LeftOuter$.MODULE$, Optional.of(sameColumns));
      high.add(range.get(2));
      low.add(range.get(3));
    }
    List<Attribute> read = new ArrayList<>(matrix.columns());
    read.addAll(high);
    read.addAll(low);
    BlockFrame blocks =
        BlockFrame.of(
            new Project(ScalaInterop.<NamedExpression>seq(read), joined),
            BlockKind.MATRIX,
            operator);
    Set<Integer> rows = Set.of(0);
    Extents extents = Extents.of(matrix.extents(), BlockKind.MATRIX.rank());
    long columns = extents.orOnes().extent(1);
    ArrayProgram means =
        new ArrayProgram(
            extents.with(Shape.of(1, columns)),
            ElementType.FLOAT64,
            matrix.blocks().isComplex(),
            List.of());
    StageBranch branch = StageBranch.of(blocks, matrix.further(), Missing.ERROR, operator);
    LogicalPlan centered =
        of(
            List.of(branch.with(high, rows).with(low, rows)),
            blocks,
            new Elementwise(
                PointwisePrograms.center(matrix.blocks()),
                List.of(),
                List.of(means, means),
                "v - means of columns"),
            computed(matrix));
    // The aggregate detects missing blocks; but without any block the join would not read its
    // result.
    return matrix.further().isEmpty() && matrix.extents().isPresent()
        ? CheckedBlocks.of(centered, means(matrix, arguments, 0).plan())
        : centered;
  }

  /** The further columns, then the means of each matrix, from {@link ColumnMeans}. */
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
