package org.tilespark.spark.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Diagonals, and statistics of columns, beside loops over plain arrays. */
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
}
