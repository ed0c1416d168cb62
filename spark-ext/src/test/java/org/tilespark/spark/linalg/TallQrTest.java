package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.tilespark.spark.linalg.Matrices.as;
import static org.tilespark.spark.linalg.Matrices.blocks;
import static org.tilespark.spark.linalg.Matrices.column;
import static org.tilespark.spark.linalg.Matrices.dense;
import static org.tilespark.spark.linalg.Matrices.identity;
import static org.tilespark.spark.linalg.Matrices.less;
import static org.tilespark.spark.linalg.Matrices.norm;
import static org.tilespark.spark.linalg.Matrices.product;
import static org.tilespark.spark.linalg.Matrices.random;
import static org.tilespark.spark.linalg.Matrices.scaled;
import static org.tilespark.spark.linalg.Matrices.strips;
import static org.tilespark.spark.linalg.Matrices.transposed;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.factor.NetlibFactorizer;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.runtime.OtherFactorizer;
import org.tilespark.spark.slice.ConcatPlans;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.Work;

/** Factorizations of tall and wide matrices by those of their strips. */
class TallQrTest extends SparkTest {
  /** Strips of four times as many rows as columns, and tops of as few as can be. */
  private static final StripSizes SMALL = new StripSizes(1, 1, 1 << 20, 1 << 20);

  private static final double EPSILON = Math.ulp(1.0);

  private static Dataset<Row> frame(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark, plan);
  }

  /** As {@link #SMALL}, with no left factor that is small enough for a broadcast. */
  private static final StripSizes EXCHANGED = new StripSizes(1, 1, 1 << 20, 0);

  private static FactorPlans plans(Dataset<Row> a) {
    return plans(a, SMALL);
  }

  private static FactorPlans plans(Dataset<Row> a, StripSizes sizes) {
    return new FactorPlans(plan(a).analyzed(), sizes, TallQrTest::frame, "test");
  }

  private static Dataset<Row> factor(LogicalPlan table, String name) {
    return frame(FactorTable.factor(table, name, "test"));
  }

  private static void assertOrthonormalColumns(double[][] q, double error) {
    double off = norm(less(product(transposed(q), q), identity(q[0].length)));
    assertTrue(off <= error, () -> "off by " + off);
  }

  private static void assertNear(double[][] expected, double[][] found, double error) {
    double off = norm(less(expected, found));
    assertTrue(off <= error, () -> "off by " + off + ", at most " + error);
  }

  private static LogicalPlan beside(LogicalPlan a, LogicalPlan b) {
    return ConcatPlans.concat(List.of(a, b), BlockKind.MATRIX, 1, TallQrTest::frame, "test");
  }

  /** The top lifted is A, and the identity lifted is orthonormal. */
  private static void check(double[][] a, Dataset<Row> blocks, StripSizes sizes, int levels) {
    int rows = a.length;
    int cols = a[0].length;
    BlockFrame frame = BlockFrame.of(plan(blocks).analyzed(), BlockKind.MATRIX, "test");
    TallQr qr = TallQr.of(frame, cols, sizes, TallQrTest::frame);
    int top = (int) qr.topRows();
    assertEquals(levels, qr.levels());
    LogicalPlan stack = qr.top().plan();
    Dataset<Row> lifted =
        frame(qr.lifted(beside(stack, qr.top().plan()), cols, ElementType.FLOAT64));
    assertNear(a, dense(lifted, rows, cols), 20 * EPSILON * rows * norm(a));
    LogicalPlan one =
        plan(blocks(spark, identity(top), ElementType.FLOAT64, strips(top, top, top))).analyzed();
    assertOrthonormalColumns(
        dense(frame(qr.lifted(beside(one, qr.top().plan()), top, ElementType.FLOAT64)), rows, top),
        20 * EPSILON * rows);
  }

  @Test
  void stacksOfOneAndOfSeveralLevels() {
    double[][] a = random(101, 3);
    check(
        a,
        blocks(spark, a, ElementType.FLOAT64, strips(101, 3, 20)),
        new StripSizes(1, 1 << 20, 8, 1 << 20),
        1);
    double[][] taller = random(403, 2);
    check(taller, blocks(spark, taller, ElementType.FLOAT64, strips(403, 2, 10)), SMALL, 3);
  }

  /** All results of one matrix, whatever its rank. */
  private static void checkAll(double[][] given, ElementType type, List<Box> tiling) {
    double[][] a = as(type, given);
    int rows = a.length;
    int cols = a[0].length;
    double error =
        20 * (type == ElementType.FLOAT32 ? Math.ulp(1f) : EPSILON) * Math.max(rows, cols);
    Dataset<Row> blocks = blocks(spark, a, type, tiling);
    int k = Math.min(rows, cols);
    LogicalPlan svd = plans(blocks).svd();
    double[][] u = dense(factor(svd, "u"), rows, k);
    double[] s = column(dense(factor(svd, "s"), k, 1));
    double[][] vt = dense(factor(svd, "vt"), k, cols);
    assertOrthonormalColumns(u, error);
    assertOrthonormalColumns(transposed(vt), error);
    assertNear(a, product(scaled(u, s), vt), error * s[0]);
    for (int i = 1; i < k; i++) {
      assertTrue(s[i - 1] >= s[i] && s[i] >= 0, Arrays.toString(s));
    }
    double[] values = column(dense(frame(plans(blocks).svdvals()), k, 1));
    double[] ofWhole = new double[k];
    try (NetlibFactorizer lapack = new NetlibFactorizer(new HostMultiplier())) {
      double[] flat = Arrays.stream(a).flatMapToDouble(Arrays::stream).toArray();
      lapack.svdvals(rows, cols, HostMemory.ofArray(flat), HostMemory.ofArray(ofWhole));
    }
    for (int i = 0; i < k; i++) {
      assertEquals(ofWhole[i], s[i], error * ofWhole[0]);
      assertEquals(ofWhole[i], values[i], error * ofWhole[0]);
    }
    if (rows >= cols) {
      LogicalPlan qr = plans(blocks).qr();
      double[][] q = dense(factor(qr, "q"), rows, cols);
      double[][] r = dense(factor(qr, "r"), cols, cols);
      assertOrthonormalColumns(q, error);
      double[][] again = product(q, r);
      for (int j = 0; j < cols; j++) { // columns of their own size each
        int col = j;
        double size = Arrays.stream(a).mapToDouble(row -> Math.abs(row[col])).max().orElse(0);
        for (int i = 0; i < rows; i++) {
          assertEquals(a[i][j], again[i][j], error * size);
        }
      }
      for (int i = 0; i < cols; i++) {
        for (int j = 0; j < i; j++) {
          assertEquals(0, r[i][j]);
        }
      }
    }
  }

  @Test
  void ofFullRank() {
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      double[][] a = random(67, 3);
      checkAll(a, type, TestArray.matrix(type, 67, 3, 1, 1).randomTiling(new Random(1)));
    }
  }

  @Test
  void ofDeficientRankGradedAndClustered() {
    for (ElementType type : List.of(ElementType.FLOAT32, ElementType.FLOAT64)) {
      boolean isFloat = type == ElementType.FLOAT32;
      double[][] deficient = random(50, 3);
      for (double[] row : deficient) {
        row[2] = row[0] - 2 * row[1];
      }
      checkAll(deficient, type, ragged(type, 50, 3, 3));
      checkAll(new double[40][2], type, strips(40, 2, 7));
      double[] scales = isFloat ? new double[] {1e37, 1, 1e-36} : new double[] {1e300, 1, 1e-300};
      checkAll(scaled(random(50, 3), scales), type, ragged(type, 50, 3, 4));
      double near = isFloat ? 1e-6 : 1e-12;
      double[][] clustered = scaled(random(50, 3), new double[] {1, 1 + near, 1 - near});
      checkAll(clustered, type, strips(50, 3, 13));
      checkAll(random(33, 1), type, strips(33, 1, 5));
    }
  }

  private static List<Box> ragged(ElementType type, int rows, int cols, int seed) {
    return TestArray.matrix(type, rows, cols, 1, 1).randomTiling(new Random(seed));
  }

  /** Each factorization is made by another LAPACK, and R of a strip is not the R of its Q. */
  @Test
  void ofSeveralLapacks() {
    try (OtherFactorizer other = OtherFactorizer.use()) {
      ofFullRank();
      ofDeficientRankGradedAndClustered();
      ofWideMatrices();
      inverse();
      stacksOfOneAndOfSeveralLevels();
      assertTrue(other.calls() > 100, () -> other.calls() + " calls");
    }
  }

  @Test
  void ofWideMatrices() {
    checkAll(
        random(3, 67),
        ElementType.FLOAT64,
        TestArray.matrix(ElementType.FLOAT64, 3, 67, 1, 1).randomTiling(new Random(2)));
  }

  @Test
  void someSingularValues() {
    double[][] a = random(60, 4);
    Dataset<Row> blocks = blocks(spark, a, ElementType.FLOAT64, strips(60, 4, 60));
    LogicalPlan all = plans(blocks).svd();
    LogicalPlan two = plans(blocks).svd(2);
    assertNear(
        Arrays.copyOf(dense(factor(all, "s"), 4, 1), 2), dense(factor(two, "s"), 2, 1), 1e-12);
    assertNear(
        Arrays.copyOf(dense(factor(all, "vt"), 4, 4), 2), dense(factor(two, "vt"), 2, 4), 1e-12);
    double[][] u = dense(factor(two, "u"), 60, 2);
    assertOrthonormalColumns(u, 1e-13);
  }

  @Test
  void leastSquares() {
    double[][] a = random(90, 3);
    double[][] b = random(90, 2);
    Dataset<Row> blocks = blocks(spark, a, ElementType.FLOAT64, strips(90, 3, 20));
    Dataset<Row> right = blocks(spark, b, ElementType.FLOAT64, strips(90, 2, 11));
    LogicalPlan found = plans(blocks).lstsq(plan(right).analyzed(), Optional.empty());
    double[][] x = dense(factor(found, "x"), 3, 2);
    double[][] left = less(b, product(a, x));
    // What is left is orthogonal to the columns of A.
    assertTrue(norm(product(transposed(a), left)) <= 1e-12);
    double[] sums = column(dense(factor(found, "residuals"), 2, 1));
    for (int j = 0; j < 2; j++) {
      int col = j;
      assertEquals(
          Arrays.stream(left).mapToDouble(row -> row[col] * row[col]).sum(), sums[j], 1e-10);
    }
    assertEquals(3, dense(factor(found, "rank"), 1, 1)[0][0]);
  }

  @Test
  void inverse() {
    double[][] a = random(50, 3);
    for (double[] row : a) {
      row[2] = row[0];
    }
    for (boolean isWide : new boolean[] {false, true}) {
      double[][] m = isWide ? transposed(a) : a;
      Dataset<Row> blocks =
          blocks(spark, m, ElementType.FLOAT64, strips(m.length, m[0].length, m.length));
      double[][] x = dense(frame(plans(blocks).pinv(Optional.empty())), m[0].length, m.length);
      // Penrose's conditions.
      double[][] mx = product(m, x);
      double[][] xm = product(x, m);
      assertNear(m, product(mx, m), 1e-12);
      assertNear(x, product(xm, x), 1e-12);
      assertNear(mx, transposed(mx), 1e-12);
      assertNear(xm, transposed(xm), 1e-12);
    }
  }

  @Test
  void furtherColumnsDistinguishMatrices() {
    checkOfTwo(SMALL);
  }

  @Test
  void largeLeftFactorsAreExchanged() {
    checkOfTwo(EXCHANGED);
    double[][] a = random(203, 2);
    Dataset<Row> blocks = blocks(spark, a, ElementType.FLOAT64, strips(203, 2, 10));
    check(a, blocks, EXCHANGED, 2);
    String exchanged = explained(factor(plans(blocks, EXCHANGED).qr(), "q"));
    assertTrue(exchanged.contains("SortMergeJoin"), exchanged);
    assertFalse(exchanged.contains("BroadcastHashJoin"), exchanged);
    String broadcast = explained(factor(plans(blocks).qr(), "q"));
    assertTrue(broadcast.contains("BroadcastHashJoin"), broadcast);
  }

  /** The factors of two matrices in one table. */
  private static void checkOfTwo(StripSizes sizes) {
    double[][] a = random(41, 2);
    double[][] b = random(41, 2);
    b[3][1] = 17;
    Dataset<Row> both =
        MatrixBlocks.withExtents(
            blocks(spark, a, ElementType.FLOAT64, strips(41, 2, 6))
                .selectExpr("*", "'a' AS name")
                .union(
                    blocks(spark, b, ElementType.FLOAT64, strips(41, 2, 41))
                        .selectExpr("*", "CAST(null AS STRING) AS name")),
            41,
            2);
    LogicalPlan qr = plans(both, sizes).qr();
    for (String condition : List.of("name = 'a'", "name IS NULL")) {
      double[][] q = dense(factor(qr, "q").where(condition), 41, 2);
      double[][] r = dense(factor(qr, "r").where(condition), 2, 2);
      assertOrthonormalColumns(q, 1e-13);
      assertNear(condition.contains("NULL") ? b : a, product(q, r), 1e-12);
    }
  }

  @Test
  void theStackIsMadeOnce() throws InterruptedException {
    double[][] a = random(64, 2);
    Dataset<Row> blocks =
        MatrixBlocks.reblock(blocks(spark, a, ElementType.FLOAT64, strips(64, 2, 64)), 16, 2)
            .persist();
    blocks.count();
    LogicalPlan svd = plans(blocks).svd();
    factor(svd, "s").collect();
    Work second = workOf(() -> factor(svd, "vt").collect());
    assertEquals(0, second.shuffledBytes());
    blocks.unpersist(true);
  }

  @Test
  void tellsWhereNumbersAreNotFinite() {
    double[][] a = random(64, 2);
    a[37][1] = Double.NaN;
    Dataset<Row> blocks = blocks(spark, a, ElementType.FLOAT64, strips(64, 2, 16));
    String reason = reasonOf(() -> frame(plans(blocks).svdvals()).collect());
    assertTrue(reason.contains("row 37, col 1 is NaN"), reason);
  }
}
