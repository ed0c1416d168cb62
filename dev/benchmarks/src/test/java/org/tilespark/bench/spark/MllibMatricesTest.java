package org.tilespark.bench.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.mllib.linalg.Matrices;
import org.apache.spark.mllib.linalg.Matrix;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.mllib.linalg.distributed.BlockMatrix;
import org.apache.spark.mllib.linalg.distributed.CoordinateMatrix;
import org.apache.spark.mllib.linalg.distributed.IndexedRow;
import org.apache.spark.mllib.linalg.distributed.IndexedRowMatrix;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.tilespark.examples.ExampleJob;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.MllibMatrices;
import scala.Tuple2;

/** Blocks there and back, compared with MLlib's view of its own matrices. */
class MllibMatricesTest {
  private static final int ROWS = 23;
  private static final int COLS = 17;

  private static SparkSession spark;
  private static Dataset<Row> blocks; // of 5 x 4
  private static Map<String, Double> expected;

  @BeforeAll
  static void makeBlocks() {
    spark = ExampleJob.session("mllib", Map.of());
    GeneratedMatrix matrix =
        new GeneratedMatrix(
            ROWS, COLS, 5, 4, ElementType.FLOAT32, GeneratedMatrix.Content.values()[0], 7);
    blocks = matrix.read(spark, 3);
    expected = cells(blocks);
    assertEquals(ROWS * COLS, expected.size());
  }

  @AfterAll
  static void stop() throws IOException {
    spark.close();
  }

  private static Map<String, Double> cells(Dataset<Row> df) {
    Map<String, Double> cells = new TreeMap<>();
    for (Row cell : MatrixBlocks.toCells(df).collectAsList()) {
      cells.put(cell.get(0) + "," + cell.get(1), cell.<Number>getAs("value").doubleValue());
    }
    return cells;
  }

  private static void same(Matrix found) {
    assertEquals(ROWS, found.numRows());
    assertEquals(COLS, found.numCols());
    expected.forEach(
        (place, value) -> {
          String[] at = place.split(",");
          assertEquals(value, found.apply(Integer.parseInt(at[0]), Integer.parseInt(at[1])), place);
        });
  }

  @Test
  void blockMatrices() {
    BlockMatrix matrix = MllibMatrices.toBlockMatrix(blocks, 6, 7);
    matrix.validate();
    same(matrix.toLocalMatrix());
    assertEquals(expected, cells(MllibMatrices.toBlocks(spark, matrix, 4, 4)));
    BlockMatrix unstated = MllibMatrices.toBlockMatrix(MatrixBlocks.withoutExtents(blocks), 6, 7);
    same(unstated.toLocalMatrix());
  }

  @Test
  void indexedRows() {
    IndexedRowMatrix matrix = MllibMatrices.toIndexedRowMatrix(blocks);
    assertEquals(ROWS, matrix.numRows());
    same(matrix.toBlockMatrix(8, 8).toLocalMatrix());
    assertEquals(expected, cells(MllibMatrices.toBlocks(spark, matrix, 4, 4)));
  }

  @Test
  void entries() {
    CoordinateMatrix matrix = MllibMatrices.toCoordinateMatrix(blocks);
    same(matrix.toBlockMatrix(8, 8).toLocalMatrix());
    assertEquals(expected, cells(MllibMatrices.toBlocks(spark, matrix, 4, 4)));
    CoordinateMatrix sparse =
        MllibMatrices.toCoordinateMatrix(
            MatrixBlocks.withExtents(
                spark.sql(
                    "SELECT 0L AS row, 0L AS col, 1 AS rows, 2 AS cols, array(0D, 2D) AS values"),
                1,
                2));
    assertEquals(1, sparse.entries().count());
    assertEquals(
        Map.of("0,0", 0.0, "0,1", 2.0), cells(MllibMatrices.toBlocks(spark, sparse, 4, 4)));
  }

  /** Whole rows in one block; of a BlockMatrix its own, which are few. */
  @Test
  void blocksOfTheUsualShape() {
    Map<Object, Integer> counts = new LinkedHashMap<>();
    counts.put(MllibMatrices.toIndexedRowMatrix(blocks), 1);
    counts.put(MllibMatrices.toCoordinateMatrix(blocks), 1);
    counts.put(MllibMatrices.toBlockMatrix(blocks, ROWS, 7), (COLS + 6) / 7);
    counts.forEach(
        (matrix, count) -> {
          Dataset<Row> made = MllibMatrices.toBlocks(spark, matrix);
          assertEquals(expected, cells(made));
          assertEquals(count.longValue(), made.count(), matrix::toString);
        });
  }

  @Test
  void othersAreRefused() {
    assertTrue(
        assertThrows(
                IllegalArgumentException.class,
                () -> MllibMatrices.toBlocks(spark, List.of(), 4, 4))
            .getMessage()
            .contains("expected a BlockMatrix"));
    assertTrue(
        assertThrows(
                IllegalArgumentException.class,
                () ->
                    MllibMatrices.toBlockMatrix(
                        blocks.withColumn("sample", functions.lit(1)), 4, 4))
            .getMessage()
            .contains("further columns [sample]"));
  }

  /** Rows and blocks that are left out are zero; those that are short are a mistake. */
  @Test
  void partsThatAreShortAreRefused() {
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    IndexedRowMatrix rows =
        new IndexedRowMatrix(
            context
                .parallelize(
                    List.of(
                        new IndexedRow(0, Vectors.dense(1, 2)),
                        new IndexedRow(2, Vectors.dense(3))))
                .rdd(),
            3,
            2);
    refused(rows, "the row of index 2 has 1 elements; expected 2");
    Tuple2<Tuple2<Object, Object>, Matrix> block =
        new Tuple2<>(new Tuple2<>(0, 1), Matrices.dense(2, 1, new double[] {1, 2}));
    BlockMatrix small = new BlockMatrix(context.parallelize(List.of(block)).rdd(), 2, 2, 4, 4);
    refused(small, "the block at (0,1) has 1 columns; expected 2");
  }

  private static void refused(Object matrix, String reason) {
    Dataset<Row> made = MllibMatrices.toBlocks(spark, matrix, 2, 2);
    StringBuilder messages = new StringBuilder();
    for (Throwable t = assertThrows(Exception.class, made::collectAsList);
        t != null;
        t = t.getCause()) {
      messages.append(t.getMessage());
    }
    assertTrue(messages.toString().contains(reason), messages::toString);
  }
}
