package org.tilespark.spark.block;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/** The blocks of results where users state none, and of results in too many blocks. */
class ResultBlocksTest extends SparkTest {
  private static final int ROWS = 200;
  private static final int COLS = 7;

  private static TestProduct matrix() {
    return TestProduct.random(ElementType.FLOAT64, ROWS, COLS, 1);
  }

  /** One row in each block, as tables have it. */
  private static Dataset<Row> strips() {
    return matrix().frame(spark, 1, COLS);
  }

  @Test
  void productsOfSingleRowsHaveLargeBlocks() {
    MultiplyOptions options = MultiplyOptions.defaults().withTransposeB(true);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> c = MatrixBlocks.multiply(strips(), strips(), options);
            assertEquals("32,32", blockShape(c));
            assertTrue(c.count() <= 64, () -> c.count() + " blocks");
            TestProduct.assertProduct(matrix(), matrix().transposed(), c);
          });
    }
    Dataset<Row> columns = matrix().transposed().frame(spark, COLS, 1);
    Dataset<Row> gram = MatrixBlocks.gram(columns);
    assertEquals("32,32", blockShape(gram));
    TestProduct.assertProduct(matrix(), matrix().transposed(), gram);
    Dataset<Row> large = MatrixBlocks.multiply(strips(), columns, options.withTransposeB(false));
    TestProduct.assertProduct(matrix(), matrix().transposed(), large);
  }

  @Test
  void elementsMoveIntoLargeBlocks() {
    Dataset<Row> padded = MatrixBlocks.pad(strips(), "1, 0");
    assertEquals("4,8", blockShape(padded));
    assertEquals(51, padded.count());
    assertEquals("4,7", blockShape(MatrixBlocks.roll(strips(), "3, 0")));
    Dataset<Row> reshaped = MatrixBlocks.reshape(strips(), ROWS * COLS / 2 + ", 2");
    assertTrue(reshaped.count() <= 64, () -> reshaped.count() + " blocks");
    // An array that stays as it is stays in its blocks, and a halo is asked for around each.
    assertEquals("1,7", blockShape(MatrixBlocks.roll(strips(), "0, 0")));
    assertEquals(ROWS, MatrixBlocks.halo(strips(), "1, 0").count());
  }

  /** Rows and columns of single elements would meet in blocks of one element each. */
  @Test
  void arraysThatAreCutAcrossMeetInLargeBlocks() {
    TestProduct square = TestProduct.random(ElementType.FLOAT64, 100, 100, 2);
    Dataset<Row> rows = square.onGrid(spark, 1, 100);
    Dataset<Row> cols = square.onGrid(spark, 100, 1);
    Dataset<Row> sum = MatrixBlocks.add(rows, cols);
    assertTrue(sum.count() <= 64, () -> sum.count() + " blocks");
    Dataset<Row> outer =
        MatrixBlocks.zip(
            MatrixBlocks.sum(cols, "0"), MatrixBlocks.sum(rows, "1"), "a + b"); // 1 x 100, 100 x 1
    assertTrue(outer.count() <= 64, () -> outer.count() + " blocks");
    double total = 0;
    for (double value : square.values()) {
      total += value;
    }
    assertEquals(200 * total, MatrixBlocks.sum(outer).first().getDouble(0), 1e-9);
  }

  @Test
  void tooManyBlocksAreRefused() {
    Dataset<Row> wide =
        MatrixBlocks.withExtents(matrix().frame(spark, 64, COLS), 3_000_000, 5_000_000);
    String reblocked =
        "rows, cols: blocks of (1, 5) cut the result of (3000000, 5000000) into 3000000000000"
            + " blocks; expected at most 1048576. Blocks of (";
    assertRefused(reblocked, () -> MatrixBlocks.reblock(wide, 1, 5));
    wide.createOrReplaceTempView("wide");
    assertRefused(
        reblocked,
        () -> spark.sql("SELECT * FROM matrix_reblock(TABLE(wide), 1, 5)").queryExecution());
    assertRefused(
        "blockShape: blocks of (100, 100) cut the result of (3000000, 3000000)",
        () ->
            MatrixBlocks.multiply(
                wide,
                wide,
                MultiplyOptions.defaults().withTransposeB(true).withBlockShape(100, 100)));
    Dataset<Row> volume =
        spark.sql("SELECT 0L x, 0L y, 0L z, 1 nx, 1 ny, 1 nz, array(1.0F) AS values");
    assertRefused(
        "nx, ny, nz: blocks of (1, 1, 512)",
        () -> VolumeBlocks.reblock(VolumeBlocks.withExtents(volume, 4096, 4096, 4096), 1, 1, 512));
  }

  /** Extents that nobody states are known when the query runs. */
  @Test
  void tooManyBlocksAreRefusedWhenTheQueryRuns() {
    Dataset<Row> cells = spark.sql("SELECT 2000000L AS row, 3L AS col, 1.0D AS value");
    assertFails(
        () -> MatrixBlocks.fromCells(cells, 1, 2, Missing.ZERO).count(),
        "extents [2000001, 4]",
        "4000002",
        "1048576");
    assertEquals(2, MatrixBlocks.fromCells(cells, 2_000_000, 4, Missing.ZERO).count());
  }

  /** The sizes that messages advise are taken. */
  @Test
  void theAdviceHelps() {
    Dataset<Row> wide = MatrixBlocks.withExtents(strips(), 3_000_000, 5_000_000);
    String reason = reasonOf(() -> MatrixBlocks.reblock(wide, 1, 5));
    String advice = reason.replaceAll(".*Blocks of \\((\\d+), (\\d+)\\), for one.*", "$1 $2");
    List<Integer> shape = List.of(advice.split(" ")).stream().map(Integer::parseInt).toList();
    assertEquals(
        shape.get(0) + "," + shape.get(1),
        blockShape(MatrixBlocks.reblock(wide, shape.get(0), shape.get(1))));
  }

  private static void assertRefused(String part, Executable body) {
    assertFails(body, part);
  }

  private static String blockShape(Dataset<Row> df) {
    return df.schema().apply("values").metadata().getString(ArrayMetadata.BLOCK_SHAPE);
  }
}
