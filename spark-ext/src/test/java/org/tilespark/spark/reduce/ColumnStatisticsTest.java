package org.tilespark.spark.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.options.RowPolicy;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Diagonals, and statistics of columns, compared with loops over plain arrays. */
class ColumnStatisticsTest extends SparkTest {
  private static final int ROWS = 9;
  private static final int COLS = 4;

  /** Numbers that are no line, and a column of tenths. */
  private static double element(int row, int col) {
    return col == 3 ? 0.1 : (row * row * (col + 1)) % 7 - 2 * col;
  }

  private static Dataset<Row> matrix() {
    return MatrixBlocks.reblock(
        TestArray.matrix(ElementType.FLOAT64, ROWS, COLS, ROWS, COLS)
            .toDataFrame(spark, 1)
            .drop("tag")
            .selectExpr(
                "row",
                "col",
                "rows",
                "cols",
                "transform(values, v -> IF((v * 8) % 4 = 3, 0.1D, CAST("
                    + "(floor(v * 2) * floor(v * 2) * ((v * 8) % 4 + 1)) % 7"
                    + " - 2 * ((v * 8) % 4) AS DOUBLE))) AS values"),
        4,
        3);
  }

  private static double mean(int col) {
    double sum = 0;
    for (int row = 0; row < ROWS; row++) {
      sum += element(row, col);
    }
    return sum / ROWS;
  }

  private static double covariance(int one, int two) {
    double sum = 0;
    for (int row = 0; row < ROWS; row++) {
      sum += (element(row, one) - mean(one)) * (element(row, two) - mean(two));
    }
    return sum / ROWS;
  }

  private static void assertNear(IntFunction<Double> expected, Object[] found) {
    for (int i = 0; i < found.length; i++) {
      assertEquals(expected.apply(i), (double) found[i], 1e-13, "element " + i);
    }
  }

  @Test
  void diagonals() {
    double trace = 0;
    for (int i = 0; i < COLS; i++) {
      trace += element(i, i);
    }
    assertEquals(trace, MatrixBlocks.trace(matrix()).first().<Double>getAs("value"), 1e-14);
    assertNear(i -> element(i, i), DenseArray.of(MatrixBlocks.diag(matrix()), COLS, 1).values());
    Dataset<Row> wide = MatrixBlocks.transpose(matrix());
    assertNear(i -> element(i, i), DenseArray.of(MatrixBlocks.diag(wide), COLS, 1).values());
    Dataset<Row> bytes =
        TestArray.matrix(ElementType.INT8, 5, 5, 2, 3).toDataFrame(spark, 2).drop("tag");
    Object[] diagonal = DenseArray.of(MatrixBlocks.diag(bytes), 5, 1).values();
    for (int i = 0; i < 5; i++) {
      assertEquals((byte) (6 * i), diagonal[i]);
    }
  }

  @Test
  void diagonalsKeepTheFileType() {
    for (String type : List.of("|u1", "|i1", ArrayMetadata.BOOL, "<i2")) {
      Dataset<Row> small =
          TestArray.matrix(ElementType.INT16, 4, 3, 2, 2)
              .toDataFrame(spark, 1)
              .drop("tag")
              .selectExpr(
                  "row",
                  "col",
                  "rows",
                  "cols",
                  "transform(values, v -> CAST(v %% 2 AS %s)) AS values"
                      .formatted(
                          type.endsWith("1") && !type.equals("|u1") ? "TINYINT" : "SMALLINT"))
              .withMetadata("values", ArrayMetadata.empty().withFileType(type).toMetadata());
      Dataset<Row> diagonal = MatrixBlocks.diag(small);
      assertEquals(
          Optional.of(type),
          ArrayMetadata.of(diagonal.schema().apply("values").metadata()).fileType());
      assertEquals(3, DenseArray.of(diagonal, 3, 1).values().length);
    }
  }

  @Test
  void constantColumnsBecomeZero() {
    Object[] found = DenseArray.of(MatrixBlocks.standardize(matrix()), ROWS, COLS).values();
    assertNear(
        i ->
            i % COLS == 3
                ? 0.0
                : (element(i / COLS, i % COLS) - mean(i % COLS))
                    / Math.sqrt(covariance(i % COLS, i % COLS)),
        found);
  }

  @Test
  void covariances() {
    Object[] found = DenseArray.of(MatrixBlocks.cov(matrix()), COLS, COLS).values();
    assertNear(i -> covariance(i / COLS, i % COLS) * ROWS / (ROWS - 1), found);
    found = DenseArray.of(MatrixBlocks.cov(matrix(), 0), COLS, COLS).values();
    assertNear(i -> covariance(i / COLS, i % COLS), found);
  }

  static List<Map<String, String>> modes() {
    return sampledModes();
  }

  /**
   * Rows with a mean that is large compared with their scatter, in blocks that have all columns.
   */
  @ParameterizedTest
  @MethodSource("modes")
  void covariancesOfStripsInOnePass(Map<String, String> mode) {
    with(
        mode,
        () -> {
          for (String type : List.of("FLOAT", "DOUBLE")) {
            for (int cols : new int[] {1, 2, 7, 300}) { // of 300 a chunk has 873 rows
              String elements =
                  "transform(sequence(1, %s), j -> CAST(1000 * j + (id * j * 7919) %% 101 AS %s))"
                      .formatted(cols, type);
              Dataset<Row> rows =
                  spark.range(0, 1001, 1, 3).selectExpr(elements + " AS features", "id");
              double[][] expected = covariances(1001, cols);
              Dataset<Row> strips = MatrixBlocks.fromRows(rows, "features");
              List<Dataset<Row>> tilings = new ArrayList<>(List.of(strips));
              if (cols <= 7) {
                RowOptions each = RowOptions.defaults().withBlockRows(1).withId("id");
                tilings.add(MatrixBlocks.fromRows(rows, "features", each));
                tilings.add(MatrixBlocks.reblock(strips, 300, cols));
                tilings.add(MatrixBlocks.reblock(strips, 300, 2)); // not in one pass
              }
              for (Dataset<Row> tiling : tilings) {
                Dataset<Row> found = MatrixBlocks.cov(tiling);
                assertEquals(
                    cols == 7 && tiling == tilings.get(tilings.size() - 1) && tilings.size() > 1,
                    !explained(found).contains("covariances("),
                    () -> explained(found));
                assertNear(
                    expected, DenseArray.of(found, cols, cols).values(), type.equals("FLOAT"));
              }
            }
          }
        });
  }

  private static double[][] covariances(int rows, int cols) {
    double[][] numbers = new double[rows][cols];
    double[] means = new double[cols];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        numbers[i][j] = 1000L * (j + 1) + (i * (j + 1L) * 7919) % 101;
        means[j] += numbers[i][j] / rows;
      }
    }
    double[][] sums = new double[cols][cols];
    for (double[] row : numbers) {
      for (int j = 0; j < cols; j++) {
        for (int k = 0; k < cols; k++) {
          sums[j][k] += (row[j] - means[j]) * (row[k] - means[k]) / (rows - 1);
        }
      }
    }
    return sums;
  }

  private static void assertNear(double[][] expected, Object[] found, boolean isFloat) {
    int cols = expected.length;
    for (int i = 0; i < found.length; i++) {
      // Rounding of each product, of about 850, and of what a FLOAT mean is taken off.
      assertEquals(
          expected[i / cols][i % cols], ((Number) found[i]).doubleValue(), isFloat ? 1e-3 : 1e-8);
    }
  }

  @Test
  void covariancesOfRowsThatNobodyHasCounted() {
    Dataset<Row> rows =
        spark
            .range(0, 40, 1, 4)
            .selectExpr(
                "IF(id % 2 = 0, array(DOUBLE(id), DOUBLE(id * id)), NULL) AS features", "id");
    Dataset<Row> half =
        MatrixBlocks.fromRows(
            rows, "features", RowOptions.defaults().withNulls(RowPolicy.SKIP).withCols(2));
    Object[] found = DenseArray.of(MatrixBlocks.cov(half), 2, 2).values();
    double[][] expected = new double[2][2];
    for (int i = 0; i < 40; i += 2) {
      double[] apart = {i - 19, i * i - 494};
      for (int j = 0; j < 4; j++) {
        expected[j / 2][j % 2] += apart[j / 2] * apart[j % 2] / 19;
      }
    }
    for (int j = 0; j < 4; j++) {
      assertEquals(expected[j / 2][j % 2], (double) found[j], 1e-9);
    }
    assertFails(
        MatrixBlocks.cov(
                MatrixBlocks.fromRows(rows.where("id % 2 = 0"), "features").where("row <> 0"))
            ::collectAsList,
        "no block");
  }

  @Test
  void aNanOrAnInfinityStaysInItsColumn() {
    Dataset<Row> rows =
        spark.sql(
            "SELECT array(1F, float('nan'), float('inf'), 2F) AS v UNION ALL SELECT array(2F, 3F,"
                + " 4F, 5F) UNION ALL SELECT array(4F, 3F, 5F, 5F)");
    Dataset<Row> strips =
        MatrixBlocks.fromRows(rows, "v", RowOptions.defaults().withNan(RowPolicy.KEEP));
    Object[] found = DenseArray.of(MatrixBlocks.cov(strips), 4, 4).values();
    for (int i = 0; i < 16; i++) {
      boolean isFinite = i / 4 % 3 == 0 && i % 4 % 3 == 0;
      assertEquals(isFinite, !Float.isNaN((float) found[i]), "element " + i);
    }
    assertEquals(7F / 3, found[0]);
    assertEquals(3F, found[15]);
  }

  /** The squares of the means are infinite in double, the covariances are not. */
  @Test
  void covariancesBesideLargeMeans() {
    Dataset<Row> rows =
        spark.range(0, 4, 1, 2).selectExpr("array(1e200D, -1e200D, double(id)) AS v");
    Object[] found =
        DenseArray.of(MatrixBlocks.cov(MatrixBlocks.fromRows(rows, "v")), 3, 3).values();
    for (int i = 0; i < 9; i++) {
      assertEquals(i == 8 ? 5.0 / 3 : 0.0, (double) found[i], 1e-15, "element " + i);
    }
  }

  /** The first of several chunks is far from the others, whose squares FLOAT cannot hold. */
  @Test
  void chunksThatLieFarApart() {
    int rows = 3000;
    Dataset<Row> table =
        spark
            .range(0, rows, 1, 1)
            .selectExpr(
                "transform(sequence(1, 300), j -> CAST(IF(id < 873, 1, -2) * 1e19D + j * 1e15D * id"
                    + " AS FLOAT)) AS v");
    Object[] found =
        DenseArray.of(MatrixBlocks.cov(MatrixBlocks.fromRows(table, "v")), 300, 300).values();
    for (int j : new int[] {1, 7, 300}) {
      double[] numbers = new double[rows];
      double mean = 0;
      for (int i = 0; i < rows; i++) {
        numbers[i] = (float) ((i < 873 ? 1 : -2) * 1e19 + j * 1e15 * i);
        mean += numbers[i] / rows;
      }
      double expected = 0;
      for (double number : numbers) {
        expected += (number - mean) * (number - mean) / (rows - 1);
      }
      float variance = (float) found[(j - 1) * 301];
      if (expected > Float.MAX_VALUE) {
        assertEquals(Float.POSITIVE_INFINITY, variance);
      } else {
        assertEquals(1, variance / expected, 1e-5, "column " + j);
      }
    }
  }

  /** A chunk of rows begins and ends within blocks, or has many of them. */
  @Test
  void chunksOfBlocksOfAnySize() {
    int rows = 2000;
    int cols = 300;
    double[][] expected = covariances(rows, cols);
    for (String type : List.of("FLOAT", "DOUBLE")) {
      String elements =
          "transform(sequence(1, %s), j -> CAST(1000 * j + (id * j * 7919) %% 101 AS %s))"
              .formatted(cols, type);
      Dataset<Row> table = spark.range(0, rows, 1, 1).selectExpr(elements + " AS features");
      for (int blockRows : new int[] {1, 23, 777, rows}) {
        RowOptions options = RowOptions.defaults().withBlockRows(blockRows);
        Dataset<Row> found = MatrixBlocks.cov(MatrixBlocks.fromRows(table, "features", options));
        assertNear(expected, DenseArray.of(found, cols, cols).values(), type.equals("FLOAT"));
      }
    }
  }

  /** A mean that is rounded leaves nothing of numbers that are equal. */
  @Test
  void equalNumbersHaveNoVariance() {
    Dataset<Row> rows = spark.range(0, 1003, 1, 1).selectExpr("array(1e200D, 0.1D) AS v");
    Object[] found =
        DenseArray.of(MatrixBlocks.cov(MatrixBlocks.fromRows(rows, "v")), 2, 2).values();
    for (Object each : found) {
      assertEquals(0.0, each);
    }
  }

  @Test
  void correlations() {
    Dataset<Row> varied = MatrixBlocks.slice(matrix(), ":, 0:3");
    Object[] found = DenseArray.of(MatrixBlocks.corrcoef(varied), 3, 3).values();
    assertNear(
        i ->
            covariance(i / 3, i % 3)
                / Math.sqrt(covariance(i / 3, i / 3) * covariance(i % 3, i % 3)),
        found);
    for (int i = 0; i < 9; i += 4) {
      assertEquals(1.0, found[i]);
    }
    Object[] withConstant = DenseArray.of(MatrixBlocks.corrcoef(matrix()), COLS, COLS).values();
    assertEquals(Double.NaN, withConstant[COLS * COLS - 1]);
  }

  /**
   * Rows with a mean that is large compared with their scatter, in blocks that have all columns.
   */
  @ParameterizedTest
  @MethodSource("modes")
  void correlationsOfStripsInOnePass(Map<String, String> mode) {
    with(
        mode,
        () -> {
          for (String type : List.of("FLOAT", "DOUBLE")) {
            for (int cols : new int[] {1, 7, 300}) {
              String elements =
                  "transform(sequence(1, %s), j -> CAST(1000 * j + (id * j * 7919) %% 101 AS %s))"
                      .formatted(cols, type);
              Dataset<Row> strips =
                  MatrixBlocks.fromRows(
                      spark.range(0, 1001, 1, 3).selectExpr(elements + " AS features"), "features");
              Dataset<Row> correlated = MatrixBlocks.corrcoef(strips);
              assertTrue(explained(correlated).contains("covariances("), explained(correlated));
              assertCorrelations(
                  covariances(1001, cols),
                  DenseArray.of(correlated, cols, cols).values(),
                  type.equals("FLOAT") ? 1e-5 : 1e-12);
            }
          }
        });
  }

  private static void assertCorrelations(double[][] covariances, Object[] found, double error) {
    int cols = covariances.length;
    for (int i = 0; i < found.length; i++) {
      int row = i / cols;
      int col = i % cols;
      boolean isConstant = (row + 1) % 101 == 0 || (col + 1) % 101 == 0;
      double expected =
          covariances[row][col] / Math.sqrt(covariances[row][row] * covariances[col][col]);
      assertEquals(
          isConstant ? Double.NaN : row == col ? 1 : expected,
          ((Number) found[i]).doubleValue(),
          error,
          "element " + i);
    }
  }

  /** Squares of these columns are beyond FLOAT, as those of columns that are constant are zero. */
  @Test
  void correlationsOfVeryLargeAndVerySmallNumbers() {
    Dataset<Row> rows =
        spark
            .range(0, 500, 1, 3)
            .selectExpr(
                "array(FLOAT(1e25 * (id * 7919 % 101)), FLOAT(id * 15838 % 101), FLOAT(1e-30 * (id"
                    + " * 23757 % 101)), FLOAT(0.1), IF(id = 7, FLOAT('NaN'), FLOAT(id))) AS v");
    Dataset<Row> strips =
        MatrixBlocks.fromRows(rows, "v", RowOptions.defaults().withNan(RowPolicy.KEEP));
    Object[] found = DenseArray.of(MatrixBlocks.corrcoef(strips), 5, 5).values();
    double[][] expected = covariances(500, 3); // but for the means, which do not matter
    for (int i = 0; i < 25; i++) {
      int row = i / 5;
      int col = i % 5;
      float correlation = (float) found[i];
      if (row > 2 || col > 2) {
        assertTrue(Float.isNaN(correlation), "element " + i);
      } else {
        double exact = expected[row][col] / Math.sqrt(expected[row][row] * expected[col][col]);
        assertEquals(row == col ? 1 : exact, correlation, 1e-5, "element " + i);
      }
    }
    Dataset<Row> constant =
        MatrixBlocks.fromRows(
            spark.range(0, 1000, 1, 2).selectExpr("array(0.1D, DOUBLE(id), 0.1D) AS v"), "v");
    Object[] ofDoubles = DenseArray.of(MatrixBlocks.corrcoef(constant), 3, 3).values();
    for (int i = 0; i < 9; i++) {
      assertEquals(i == 4 ? 1 : Double.NaN, (double) ofDoubles[i], "element " + i);
    }
  }
}
