package org.tilespark.spark.linalg;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.permute.PermutePlans;
import org.tilespark.spark.pointwise.ExpressionPlans;
import org.tilespark.spark.pointwise.ExpressionPlans.Asked;

/**
 * Plans of factorisations of a tall matrix by {@link TallQr}, which reduces it to a matrix of far
 * fewer rows. That matrix is factorized as one block; from its left factors {@link TallQr#lifted}
 * computes those of the tall matrix.
 */
final class TallPlans {
  private static final Permutation TRANSPOSE = Permutation.of(1, 0);

  private final TallQr qr;
  private final long rows;
  private final long cols;
  private final ElementType result;
  private final Function<LogicalPlan, Dataset<Row>> asDataset;
  private final String operator;

  /**
   * Plans over a tall matrix, or over several of one size.
   *
   * @param a the matrix, with stated extents
   * @param own number of columns of A; later columns belong to B, for messages
   * @param result type of the results: FLOAT32 or FLOAT64
   * @param asDataset turns a plan into a DataFrame
   */
  TallPlans(
      BlockFrame a,
      int own,
      StripSizes sizes,
      ElementType result,
      Function<LogicalPlan, Dataset<Row>> asDataset) {
    Shape extents = a.extents().orElseThrow();
    this.operator = a.operator();
    this.qr = TallQr.of(a, own, sizes, asDataset);
    this.rows = extents.extent(0);
    this.cols = extents.extent(1);
    this.result = result;
    this.asDataset = asDataset;
  }

  /** The table of the thin factors Q, in strips, and R. */
  LogicalPlan qr() {
    Kept core =
        core(
            FactorSpec.of(Factoring.STACK_QR, Math.toIntExact(cols), ElementType.FLOAT64),
            List.of(Shape.of(qr.topRows(), 2 * cols), Shape.of(cols, cols)));
    Map<String, LogicalPlan> factors = new LinkedHashMap<>();
    factors.put("q", qr.lifted(factor(core, "q"), cols, result));
    factors.put("r", rounded(factor(core, "r")));
    return FactorTable.of(factors, operator);
  }

  /**
   * The table of the first columns of U, in strips, the first singular values, and the first rows
   * of V^T.
   *
   * @param count number of singular values, at most the count of columns
   */
  LogicalPlan svd(long count) {
    Kept core =
        core(
            FactorSpec.of(Factoring.STACK_SVD, Math.toIntExact(cols), ElementType.FLOAT64)
                .withLargest(Math.toIntExact(count)),
            List.of(
                Shape.of(qr.topRows(), Bytes.sum(count, cols)),
                Shape.of(count, 1),
                Shape.of(count, cols)));
    Map<String, LogicalPlan> factors = new LinkedHashMap<>();
    factors.put("u", qr.lifted(factor(core, "u"), count, result));
    factors.put("s", rounded(factor(core, "s")));
    factors.put("vt", rounded(factor(core, "vt")));
    return FactorTable.of(factors, operator);
  }

  /** The singular values, as a column. */
  LogicalPlan svdvals() {
    return only(FactorSpec.of(Factoring.SVDVALS, Math.toIntExact(cols), result), Shape.of(cols, 1));
  }

  /** The Moore-Penrose inverse of A = Q S, where S is {@link TallQr#top}: S^+ Q^T. */
  LogicalPlan pinv(double tolerance) {
    FactorSpec spec =
        FactorSpec.of(Factoring.STACK_PINV, Math.toIntExact(cols), ElementType.FLOAT64)
            .withTolerance(tolerance);
    return transposed(qr.lifted(only(spec, Shape.of(qr.topRows(), 2 * cols)), cols, result));
  }

  /** The table of factors of the matrix [A | B], over which this object was made. */
  LogicalPlan table(FactorSpec spec, Map<String, ArrayMetadata> known) {
    return FactorPlans.of(qr.top(), spec, known, true);
  }

  private LogicalPlan only(FactorSpec spec, Shape extents) {
    String name = spec.made().factors().get(0);
    return FactorPlans.of(qr.top(), spec, Map.of(name, FactorTable.oneBlock(extents)), false);
  }

  /** The factors of {@link TallQr#top}, computed once for all readers. */
  private Kept core(FactorSpec spec, List<Shape> extents) {
    return Kept.of(
        FactorPlans.of(qr.top(), spec, FactorPlans.extents(spec, extents), true),
        spec.made() + " of " + operator,
        asDataset);
  }

  private LogicalPlan factor(Kept core, String name) {
    return FactorTable.factor(core.plan(), name, operator);
  }

  private LogicalPlan rounded(LogicalPlan doubles) {
    return result == ElementType.FLOAT64
        ? doubles
        : ExpressionPlans.map(
            doubles, BlockKind.MATRIX, new Asked("CAST(v AS FLOAT)", Map.of()), operator);
  }

  private LogicalPlan transposed(LogicalPlan plan) {
    return PermutePlans.permute(plan, BlockKind.MATRIX, TRANSPOSE, operator);
  }
}
