package org.tilespark.spark.linalg;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.multiply.MultiplyPlans;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.permute.PermutePlans;

/**
 * The largest singular values of a matrix and their vectors by a randomized range finder with power
 * steps: algorithms 4.4 and 5.1 of Halko, Martinsson and Tropp, "Finding structure with randomness"
 * (SIAM Review 53, 2011).
 *
 * <p>A times random vectors approximately spans the first left singular vectors of A; each product
 * with A A^T improves that. Columns are made orthonormal after each product. The products are
 * {@link Kept}, since a QR factorization reads them twice. A is read {@code 2 * steps + 2} times.
 *
 * @param a the matrix A: blocks of FLOAT or DOUBLE with stated extents
 * @param random options of the range finder
 * @param sizes sizes of the strips of the products and of their factorizations
 * @param asDataset turns a plan into a DataFrame
 */
record RandomizedSvd(
    BlockFrame a,
    RangeOptions random,
    StripSizes sizes,
    Function<LogicalPlan, Dataset<Row>> asDataset) {

  /**
   * The {@code count} largest singular values s with U and V^T, as a table of factors.
   *
   * @param count number of singular values, at most the shorter side
   */
  LogicalPlan svd(long count) {
    Shape extents = a.extents().orElseThrow();
    boolean isTall = extents.extent(0) >= extents.extent(1);
    long shorter = Math.min(extents.extent(0), extents.extent(1));
    long longer = Math.max(extents.extent(0), extents.extent(1));
    long width = Math.min(shorter, count + random.oversampling());
    // The random vectors have the length of the shorter side, since these are fewer numbers.
    Shape shape = Shape.of(shorter, width);
    LogicalPlan vectors =
        RandomMatrix.of(
            shape, sizes.height(shape, Optional.empty()), a.blocks().elementType(), random.seed());
    // A basis of the range of A if A is tall, otherwise of A^T: (longer, width).
    LogicalPlan far = null;
    Kept near = null; // the product of A^T, or A, and that basis: (shorter, width)
    for (int step = 0; step <= random.steps(); step++) {
      far = basis(product(step == 0 ? vectors : basis(near), !isTall, longer, width));
      near = product(far, isTall, shorter, width);
    }
    // Let Q be {@code far}. Then {@code near} is A Q or A^T Q = U s V^T, and A is about U s (Q
    // V)^T, or the transpose of that.
    FactorPlans ofNear = plans(near);
    LogicalPlan table = Kept.of(ofNear.svd(count), "svd of " + a.operator(), asDataset).plan();
    LogicalPlan ofShorter = factor(table, "u");
    LogicalPlan ofLonger =
        MultiplyPlans.multiply(
            far,
            factor(table, "vt"),
            MultiplyOptions.defaults()
                .withTransposeB(true)
                .withBlockShape(Math.toIntExact(height(longer, width)), Math.toIntExact(count)),
            asDataset,
            a.operator());
    Map<String, LogicalPlan> factors = new LinkedHashMap<>();
    factors.put("u", isTall ? ofLonger : ofShorter);
    factors.put("s", factor(table, "s"));
    factors.put("vt", transposed(isTall ? ofShorter : ofLonger));
    return FactorTable.of(factors, a.operator());
  }

  /** The product of A or A^T and some vectors, in strips. */
  private Kept product(LogicalPlan vectors, boolean transposed, long rows, long width) {
    MultiplyOptions options =
        MultiplyOptions.defaults()
            .withTransposeA(transposed)
            .withBlockShape(Math.toIntExact(height(rows, width)), Math.toIntExact(width));
    return Kept.of(
        MultiplyPlans.multiply(a.plan(), vectors, options, asDataset, a.operator()),
        "products of " + a.operator(),
        asDataset);
  }

  private long height(long rows, long width) {
    return sizes.height(Shape.of(rows, width), Optional.empty());
  }

  /** An orthonormal basis of the range of some columns. */
  private LogicalPlan basis(Kept columns) {
    return factor(plans(columns).qr(), "q");
  }

  private FactorPlans plans(Kept matrix) {
    return new FactorPlans(matrix.plan(), sizes, asDataset, a.operator());
  }

  private LogicalPlan factor(LogicalPlan table, String name) {
    return FactorTable.factor(table, name, a.operator());
  }

  private LogicalPlan transposed(LogicalPlan plan) {
    return PermutePlans.permute(plan, BlockKind.MATRIX, Permutation.of(1, 0), a.operator());
  }
}
