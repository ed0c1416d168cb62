package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;

/** Spark's statistics of our results, and so the sides of joins that it broadcasts. */
class StatisticsTest extends SparkTest {
  private static final long MOST_OVERHEAD = 1 << 20;

  /** One block whose metadata states other extents: plans alone are looked at. */
  private static Dataset<Row> matrix(long rows, long cols, Shape blockShape) {
    return stating(
        spark.sql(
            "SELECT 0L AS row, 0L AS col, 1 AS rows, 1 AS cols, array(CAST(1 AS DOUBLE)) AS"
                + " values"),
        Shape.of(rows, cols),
        blockShape);
  }

  private static Dataset<Row> volume(Shape extents, Shape blockShape) {
    return stating(
        spark.sql(
            "SELECT 0L AS x, 0L AS y, 0L AS z, 1 AS nx, 1 AS ny, 1 AS nz,"
                + " array(CAST(1 AS FLOAT)) AS values"),
        extents,
        blockShape);
  }

  private static Dataset<Row> stating(Dataset<Row> df, Shape extents, Shape blockShape) {
    return df.withMetadata(
        "values",
        ArrayMetadata.empty().withExtents(extents).withBlockShape(blockShape).toMetadata());
  }

  /** Results of 72 MB and more by what they are, and the bytes of their values. */
  private static Map<Dataset<Row>, Long> large() {
    Dataset<Row> line = matrix(1, 3000, Shape.of(1, 1000));
    Dataset<Row> square = matrix(3000, 3000, Shape.of(1000, 1000));
    Dataset<Row> small = volume(Shape.of(4, 4, 4), Shape.of(4, 4, 4));
    Dataset<Row> cube = volume(Shape.of(256, 256, 256), Shape.of(32, 256, 256));
    FftOptions padded = FftOptions.defaults().withPadTo("256");
    long ofSquare = 3000L * 3000 * 8;
    long ofCube = 256L * 256 * 256 * 4;
    Map<Dataset<Row>, Long> large = new LinkedHashMap<>();
    large.put(MatrixBlocks.gram(line), ofSquare);
    large.put(MatrixBlocks.multiply(MatrixBlocks.transpose(line), line), ofSquare);
    large.put(MatrixBlocks.transpose(square), ofSquare);
    large.put(MatrixBlocks.reblock(square, 500, 700), ofSquare);
    large.put(VolumeBlocks.permute(cube, "yzx"), ofCube);
    large.put(VolumeBlocks.fft(small, padded), 2 * ofCube);
    large.put(VolumeBlocks.fft(small, padded.withDecomposition("slabs")), 2 * ofCube);
    large.put(VolumeBlocks.fft(small, padded.withOutput("natural")), 2 * ofCube);
    large.put(VolumeBlocks.ifft(VolumeBlocks.fft(small, padded)), 2 * ofCube);
    large.put(VolumeBlocks.powerSpectrum(VolumeBlocks.fft(small, padded)), ofCube);
    large.put(VolumeBlocks.multiplyPointwise(cube, cube), ofCube);
    large.put(VolumeBlocks.slabs(cube, "y", 16), ofCube);
    return large;
  }

  @Test
  void bytesAreThoseOfTheValues() {
    large()
        .forEach(
            (df, bytes) -> {
              long found = statistics(df).sizeInBytes().bigInteger().longValueExact();
              assertTrue(
                  found >= bytes && found <= bytes + MOST_OVERHEAD,
                  () -> found + " bytes, expected " + bytes + " of " + optimized(df));
            });
  }

  @Test
  void usersJoinsDoNotBroadcastThem() {
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () ->
            large()
                .forEach(
                    (df, bytes) -> {
                      String place = df.columns()[0];
                      Dataset<Row> other =
                          spark.range(10_000_000_000L).withColumnRenamed("id", place);
                      Dataset<Row> joined = df.join(other, place);
                      assertEquals(
                          List.of(),
                          PlanNodes.all(plan(joined), BroadcastHashJoinExec.class),
                          () -> explained(joined));
                    }));
  }

  /** Small results are broadcast as before. */
  @Test
  void smallResultsAreBroadcast() {
    Dataset<Row> other = spark.range(10_000_000_000L).withColumnRenamed("id", "row");
    for (Dataset<Row> small :
        List.of(
            MatrixBlocks.gram(matrix(3000, 30, Shape.of(1000, 30))),
            MatrixBlocks.transpose(matrix(300, 300, Shape.of(100, 100))))) {
      with(
          Map.of("spark.sql.adaptive.enabled", "false"),
          () ->
              assertFalse(
                  PlanNodes.all(plan(small.join(other, "row")), BroadcastHashJoinExec.class)
                      .isEmpty()));
    }
  }

  @Test
  void rowsAreBlocks() {
    assertRows(6, MatrixBlocks.gram(matrix(10, 60, Shape.of(10, 30)), blocks(30, 20)));
    assertRows(12, MatrixBlocks.transpose(matrix(100, 70, Shape.of(30, 30))));
    assertRows(20, MatrixBlocks.reblock(matrix(100, 70, Shape.of(30, 30)), 25, 15));
  }

  private static MultiplyOptions blocks(int rows, int cols) {
    return MultiplyOptions.defaults().withBlockShape(rows, cols);
  }

  private static void assertRows(long rows, Dataset<Row> df) {
    assertEquals(rows, statistics(df).rowCount().get().bigInteger().longValueExact());
  }

  /** Several matrices, as many as the input has bytes for. */
  @Test
  void groupingColumnsMultiply() {
    Dataset<Row> square = MatrixBlocks.scale(matrix(3000, 3000, Shape.of(1000, 1000)), 2);
    Dataset<Row> three = square.selectExpr("*", "0 AS k");
    for (int k = 1; k < 3; k++) {
      three = three.unionAll(square.selectExpr("*", k + " AS k"));
    }
    long bytes = 3 * 3000L * 3000 * 8;
    for (Dataset<Row> df :
        List.of(
            MatrixBlocks.gram(three),
            MatrixBlocks.transpose(three),
            MatrixBlocks.transpose(three).drop("k"),
            MatrixBlocks.reblock(three, 500, 500))) {
      long found = statistics(df).sizeInBytes().bigInteger().longValueExact();
      assertTrue(
          found >= bytes && found <= bytes + MOST_OVERHEAD,
          () -> found + " bytes, expected " + bytes + " of " + optimized(df));
    }
  }

  @Test
  void extentsBeyondAnyNumber() {
    Dataset<Row> huge = matrix(1L << 31, 1L << 31, Shape.of(1, 1));
    assertEquals(
        BigInteger.ONE.shiftLeft(62).multiply(BigInteger.valueOf(8 + 48)),
        statistics(MatrixBlocks.transpose(huge)).sizeInBytes().bigInteger());
  }

  /** Without metadata a transpose is as large as its input. */
  @Test
  void withoutMetadataAsTheInput() {
    Dataset<Row> df =
        spark
            .range(1000)
            .selectExpr("id AS row", "0L AS col", "1 AS rows", "1 AS cols", "array(1D) AS values");
    assertEquals(
        statistics(df).sizeInBytes(), statistics(MatrixBlocks.transpose(df)).sizeInBytes());
  }

  /** With its cost-based optimizer Spark multiplies rows by the lengths of columns. */
  @Test
  void projectionsAndFiltersUnderTheCostBasedOptimizer(@TempDir Path dir) throws IOException {
    Dataset<Row> gram = MatrixBlocks.gram(matrix(1, 3000, Shape.of(1, 1000)));
    Dataset<Row> file =
        spark
            .read()
            .format("npy")
            .option("blockShape", "100,100")
            .load(zeros(dir.resolve("zeros.npy"), 3000, 3000).toString());
    with(
        Map.of("spark.sql.cbo.enabled", "true", "spark.sql.cbo.planStats.enabled", "true"),
        () -> {
          for (Dataset<Row> df : List.of(gram, file, MatrixBlocks.transpose(file))) {
            for (Dataset<Row> over :
                List.of(
                    df,
                    df.selectExpr("row + 1 AS r", "values AS v"),
                    df.where("rows > 2 OR rand() >= 0"))) {
              long found = statistics(over).sizeInBytes().bigInteger().longValueExact();
              assertTrue(found > 20_000_000, () -> found + " bytes of " + optimized(over));
            }
          }
        });
  }

  /** A file of DOUBLE zeros, of which the disk holds little more than the header. */
  private static Path zeros(Path path, int rows, int cols) throws IOException {
    String dict =
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + rows + ", " + cols + "), }";
    String header = dict + " ".repeat(128 - 10 - dict.length() - 1) + "\n";
    ByteBuffer bytes = ByteBuffer.allocate(128).order(ByteOrder.LITTLE_ENDIAN);
    bytes.put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0});
    bytes.putShort((short) header.length()).put(header.getBytes(StandardCharsets.US_ASCII));
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
      file.write(bytes.array());
      file.setLength(128 + 8L * rows * cols);
    }
    return path;
  }

  private static Statistics statistics(Dataset<Row> df) {
    return plan(df).optimizedPlan().stats();
  }
}
