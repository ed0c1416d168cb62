package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
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
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.runtime.OtherFactorizer;
import org.tilespark.spark.testing.SparkTest;

/** The largest singular values of matrices whose rank is small but for noise. */
class RandomizedSvdTest extends SparkTest {
  private static final double[] VALUES = {9, 7, 4, 2, 1e-6, 1e-6, 1e-6, 1e-6};

  private static Dataset<Row> frame(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) spark, plan);
  }

  /** Columns of a random matrix, made orthonormal twice by Gram and Schmidt. */
  private static double[][] orthonormal(int rows, int cols) {
    double[][] columns = transposed(random(rows, cols));
    for (int round = 0; round < 2; round++) {
      for (int j = 0; j < cols; j++) {
        for (int before = 0; before < j; before++) {
          double dot = 0;
          for (int i = 0; i < rows; i++) {
            dot += columns[j][i] * columns[before][i];
          }
          for (int i = 0; i < rows; i++) {
            columns[j][i] -= dot * columns[before][i];
          }
        }
        double length = Math.sqrt(Arrays.stream(columns[j]).map(x -> x * x).sum());
        columns[j] = Arrays.stream(columns[j]).map(x -> x / length).toArray();
      }
    }
    return transposed(columns);
  }

  private static LogicalPlan svd(double[][] a, ElementType type, StripSizes sizes, long seed) {
    Dataset<Row> blocks = blocks(spark, a, type, strips(a.length, a[0].length, 16));
    return new RandomizedSvd(
            BlockFrame.of(plan(blocks).analyzed(), BlockKind.MATRIX, "test"),
            new RangeOptions(2, 2, seed),
            sizes,
            RandomizedSvdTest::frame)
        .svd(4);
  }

  @Test
  void findsThem() {
    double[][] left = orthonormal(80, VALUES.length);
    double[][] right = orthonormal(30, VALUES.length);
    double[][] tall = product(scaled(left, VALUES), transposed(right));
    for (double[][] a : new double[][][] {tall, transposed(tall)}) {
      for (StripSizes sizes :
          new StripSizes[] {StripSizes.of(2), new StripSizes(1, 1, 1 << 20, 1 << 20)}) {
        LogicalPlan svd = svd(a, ElementType.FLOAT64, sizes, 5);
        double[][] u = factor(svd, "u", a.length, 4);
        double[] s = column(factor(svd, "s", 4, 1));
        double[][] vt = factor(svd, "vt", 4, a[0].length);
        assertEquals(0, norm(less(product(transposed(u), u), identity(4))), 1e-12);
        assertEquals(0, norm(less(product(vt, transposed(vt)), identity(4))), 1e-12);
        assertEquals(0, norm(less(a, product(scaled(u, s), vt))), 2e-6);
        for (int i = 0; i < 4; i++) {
          assertEquals(VALUES[i], s[i], 1e-10);
        }
      }
    }
  }

  /** Its products have dependent columns; each factorization is made by another LAPACK. */
  @Test
  void ofLessThanTheWantedRank() {
    double[][] a = product(random(80, 2), random(2, 30));
    try (OtherFactorizer other = OtherFactorizer.use()) {
      for (ElementType type : new ElementType[] {ElementType.FLOAT32, ElementType.FLOAT64}) {
        double error = 1000 * (type == ElementType.FLOAT32 ? Math.ulp(1f) : Math.ulp(1.0));
        LogicalPlan svd = svd(a, type, new StripSizes(1, 1, 1 << 20, 1 << 20), 5);
        double[][] u = factor(svd, "u", 80, 4);
        double[] s = column(factor(svd, "s", 4, 1));
        double[][] vt = factor(svd, "vt", 4, 30);
        assertEquals(0, norm(less(product(transposed(u), u), identity(4))), error);
        assertEquals(0, norm(less(product(vt, transposed(vt)), identity(4))), error);
        assertEquals(0, norm(less(a, product(scaled(u, s), vt))), error * s[0]);
        assertEquals(0, s[2], error * s[0]);
      }
      assertTrue(other.calls() > 0);
    }
  }

  @Test
  void theSameSeedGivesTheSameNumbers() {
    double[][] a = random(60, 40);
    double[][] first = factor(svd(a, ElementType.FLOAT32, StripSizes.of(2), 1), "s", 4, 1);
    double[][] again = factor(svd(a, ElementType.FLOAT32, StripSizes.of(2), 1), "s", 4, 1);
    assertTrue(Arrays.deepEquals(first, again));
    double[][] other = factor(svd(a, ElementType.FLOAT32, StripSizes.of(2), 2), "s", 4, 1);
    assertTrue(!Arrays.deepEquals(first, other));
  }

  private static double[][] factor(LogicalPlan table, String name, int rows, int cols) {
    return dense(frame(FactorTable.factor(table, name, "test")), rows, cols);
  }
}
