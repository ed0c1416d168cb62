package org.tilespark.spark.linalg;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import static org.tilespark.spark.linalg.Matrices.strips;
import static org.tilespark.spark.linalg.Matrices.transposed;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.Pca;
import org.tilespark.spark.testing.SparkTest;

/** Principal components against their definition: eigenvectors of the covariances. */
class PrincipalPlansTest extends SparkTest {
  private static final double EPSILON = Math.ulp(1.0);

  private static double[][] centered(double[][] a) {
    double[] mean = mean(a);
    double[][] c = new double[a.length][];
    for (int i = 0; i < a.length; i++) {
      double[] row = a[i];
      c[i] = new double[row.length];
      Arrays.setAll(c[i], j -> row[j] - mean[j]);
    }
    return c;
  }

  private static double[] mean(double[][] a) {
    double[] mean = new double[a[0].length];
    for (double[] row : a) {
      for (int j = 0; j < mean.length; j++) {
        mean[j] += row[j] / a.length;
      }
    }
    return mean;
  }

  private static void check(double[][] given, ElementType type, int k) {
    double[][] a = as(type, given);
    int rows = a.length;
    int cols = a[0].length;
    double epsilon = type == ElementType.FLOAT32 ? Math.ulp(1f) : EPSILON;
    double error = 50 * epsilon * Math.max(rows, cols);
    Pca found = MatrixBlocks.pca(blocks(spark, a, type, strips(rows, cols, 13)), k);
    double[][] c = centered(a);
    double scale = norm(c);
    double[][] components = dense(found.components(), k, cols);
    assertTrue(norm(less(product(components, transposed(components)), identity(k))) <= error);
    double[] variance = column(dense(found.explainedVariance(), k, 1));
    double[] values = column(dense(found.singularValues(), k, 1));
    double[] ratio = column(dense(found.explainedVarianceRatio(), k, 1));
    double total = 0;
    for (double[] row : c) {
      total += Arrays.stream(row).map(x -> x * x).sum();
    }
    // The covariances times a component are its variance times it.
    double[][] squares = product(product(components, transposed(c)), c);
    for (int i = 0; i < k; i++) {
      assertTrue(i == 0 || variance[i - 1] >= variance[i], Arrays.toString(variance));
      assertEquals(variance[i] * (rows - 1), values[i] * values[i], error * total);
      assertEquals(ratio[i] * total, values[i] * values[i], error * total);
      double peak = 0;
      for (int j = 0; j < cols; j++) {
        assertEquals(values[i] * values[i] * components[i][j], squares[i][j], error * total);
        peak = Math.abs(components[i][j]) > Math.abs(peak) ? components[i][j] : peak;
      }
      assertTrue(peak > 0, "the largest element is positive");
    }
    assertTrue(
        norm(less(new double[][] {mean(a)}, dense(found.mean(), 1, cols))) <= error * norm(a));
    double[][] scores = product(c, transposed(components));
    assertTrue(norm(less(scores, dense(found.scores(), rows, k))) <= error * (scale + norm(a)));
  }

  @Test
  void ofTallSquareAndWideMatrices() {
    check(random(57, 5), ElementType.FLOAT64, 3);
    check(random(5, 5), ElementType.FLOAT32, 5);
    check(random(4, 31), ElementType.FLOAT64, 4);
  }

  @Test
  void byProductsOfColumns() {
    check(random(600, 513), ElementType.FLOAT64, 2);
  }

  @Test
  void byProductsOfRows() {
    check(random(513, 600), ElementType.FLOAT64, 2);
  }

  @Test
  void whitenedScoresHaveVarianceOne() {
    double[][] a = random(40, 4);
    Pca found = MatrixBlocks.pca(blocks(spark, a, ElementType.FLOAT64, strips(40, 4, 9)), 3, true);
    double[][] scores = dense(found.scores(), 40, 3);
    double[][] covariance = product(transposed(scores), scores);
    assertTrue(
        norm(
                less(
                    covariance,
                    product(identity(3), new double[][] {{39, 0, 0}, {0, 39, 0}, {0, 0, 39}})))
            <= 1e-11);
  }

  /** The figures of numpy, which test_tall.py expects of Python's pca of this matrix, too. */
  @Test
  void nanMayStandForTheMean() {
    double[][] a = new double[12][3];
    for (int i = 0; i < 12; i++) {
      for (int j = 0; j < 3; j++) {
        a[i][j] = (i * 7 + j * 13 + i * j) % 11 - 4 + 0.25 * j;
      }
    }
    a[7][1] = Double.NaN;
    a[2][2] = Double.NaN;
    double[][] values = {{13.286049976935665}, {10.52239725518028}, {6.7179791705359095}};
    double[][] components = {
      {0.7019161878340161, 0.6768033596457286, -0.22192538752656632},
      {0.5928443330900234, -0.38245575067681664, 0.7087052952372221},
      {-0.3947774841345536, 0.6290189274946238, 0.6696909189125275}
    };
    double[][] mean = {{0.5833333333333334, 1.1590909090909092, 1.8636363636363635}};
    Dataset<Row> blocks = blocks(spark, a, ElementType.FLOAT64, strips(12, 3, 5));
    Pca found = MatrixBlocks.pca(blocks, 3, false, "mean");
    assertTrue(norm(less(values, dense(found.singularValues(), 3, 1))) <= 1e-13);
    assertTrue(norm(less(components, dense(found.components(), 3, 3))) <= 1e-13);
    assertTrue(norm(less(mean, dense(found.mean(), 1, 3))) <= 1e-13);
    blocks.createOrReplaceTempView("with_nan");
    Dataset<Row> table =
        spark.sql("SELECT * FROM matrix_pca(TABLE(with_nan), k => 3, nan => 'mean')");
    assertTrue(
        norm(less(values, dense(MatrixBlocks.factor(table, "singular_values"), 3, 1))) <= 1e-13);
    assertTrue(
        norm(less(components, dense(MatrixBlocks.factor(table, "components"), 3, 3))) <= 1e-13);
    String reason = reasonOf(() -> MatrixBlocks.pca(blocks, 1).mean().collect());
    assertTrue(reason.contains("is NaN"), reason);
  }

  @Test
  void refusesWhatHasNoComponents() {
    Dataset<Row> one = blocks(spark, random(1, 3), ElementType.FLOAT64, strips(1, 3, 1));
    assertTrue(reasonOf(() -> MatrixBlocks.pca(one, 1)).contains("two rows or more"));
    Dataset<Row> some = blocks(spark, random(9, 3), ElementType.FLOAT64, strips(9, 3, 9));
    for (long k : List.of(0L, 4L)) {
      assertTrue(reasonOf(() -> MatrixBlocks.pca(some, k)).contains("k is " + k));
    }
  }
}
