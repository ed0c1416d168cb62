package org.tilespark.spark.reduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Plans of reductions, how they meet their neighbours, and what they refuse. */
class ReductionsTest extends SparkTest {
  private static final int ROWS = 12;
  private static final int COLS = 10;

  /** Elements that are their index, in blocks of 5 x 4, whose tiling the metadata states. */
  private static Dataset<Row> matrix() {
    return MatrixBlocks.reblock(
        MatrixBlocks.withExtents(
            TestArray.matrix(ElementType.FLOAT64, ROWS, COLS, 3, COLS)
                .toDataFrame(spark, 2)
                .drop("tag"),
            ROWS,
            COLS),
        5,
        4);
  }

  @Test
  void statesAreMadeInTheStageBefore() {
    Dataset<Row> sums =
        MatrixBlocks.sum(MatrixBlocks.transpose(MatrixBlocks.scale(matrix(), 2)), "0");
    List<BlockStageExec> stages = PlanNodes.computing(plan(sums).executedPlan());
    assertEquals(2, stages.size(), () -> explained(sums));
    // One exchange makes the tiling, one brings the states together.
    assertEquals(
        2,
        PlanNodes.all(plan(sums).executedPlan(), ShuffleExchangeExec.class).size(),
        () -> explained(sums));
    DenseArray found = DenseArray.of(sums, 1, ROWS);
    for (int row = 0; row < ROWS; row++) {
      double sum = 0;
      for (int col = 0; col < COLS; col++) {
        sum += 2 * (row * COLS + col) / 8.0;
      }
      assertEquals(sum, found.values()[row]);
    }
  }

  @Test
  void wholeBlocksNeedNoExchange() {
    Dataset<Row> slabs =
        VolumeBlocks.slabs(
            TestArray.volume(ElementType.FLOAT32, 6, 4, 5, 2, 2, 5)
                .toDataFrame(spark, 3)
                .drop("tag"),
            "x",
            2);
    Dataset<Row> means = VolumeBlocks.mean(VolumeBlocks.std(slabs, "z"), "y");
    assertEquals(1, PlanNodes.computing(plan(means).executedPlan()).size(), () -> explained(means));
    // One exchange makes slabs.
    assertEquals(
        1,
        PlanNodes.all(plan(means).executedPlan(), ShuffleExchangeExec.class).size(),
        () -> explained(means));
    DenseArray found = DenseArray.of(means, 6, 1, 1);
    for (Object value : found.values()) {
      assertEquals((float) Math.sqrt(2), value);
    }
  }

  @Test
  void equalBitsWhateverThePartitioning() {
    Dataset<Row> blocks =
        MatrixBlocks.reblock(
            MatrixBlocks.scale(
                TestArray.matrix(ElementType.FLOAT64, 90, 70, 90, 70)
                    .toDataFrame(spark, 1)
                    .drop("tag"),
                1.0 / 7),
            13,
            11);
    blocks.cache();
    List<Row> first = null;
    for (Map<String, String> mode : sampledModes()) {
      for (int partitions : new int[] {1, 2, 5}) {
        Dataset<Row> moved = saying(blocks.repartition(partitions).orderBy("rows", "cols"), blocks);
        List<Row> found =
            mode(mode, () -> MatrixBlocks.var(moved, "1", 1).orderBy("row", "col").collectAsList());
        first = first == null ? found : first;
        assertEquals(first, found);
      }
    }
    assertTrue(first.size() > 1);
    blocks.unpersist();
  }

  private static List<Row> mode(Map<String, String> mode, Supplier<List<Row>> body) {
    List<List<Row>> found = new ArrayList<>();
    with(mode, () -> found.add(body.get()));
    return found.get(0);
  }

  @Test
  void metadataOfResults() {
    Dataset<Row> sums = MatrixBlocks.sum(matrix(), "col");
    ArrayMetadata said = ArrayMetadata.of(sums.schema().apply("values").metadata());
    assertEquals("Optional[(12, 1)]", said.extents(2).toString());
    assertEquals("Optional[(5, 1)]", said.blockShape(2).toString());
    Row all = MatrixBlocks.sum(matrix()).first();
    assertEquals(1, all.length());
    assertEquals(119.0 * 120 / 2 / 8, all.<Double>getAs("value"));
    assertEquals("value", MatrixBlocks.sum(matrix()).columns()[0]);
  }

  /** States of 288 MiB meet in two tasks, not in one. */
  @Test
  void manyStatesMeetInSeveralTasks() {
    int cols = 9 << 20;
    Dataset<Row> rows =
        spark
            .range(0, 4, 1, 4)
            .selectExpr(
                "id AS row",
                "0L AS col",
                "1 AS rows",
                cols + " AS cols",
                "concat(array_repeat(CAST(id AS FLOAT), 5242880),"
                    + " array_repeat(CAST(10 AS FLOAT), 4194304)) AS values");
    Dataset<Row> sums =
        MatrixBlocks.sum(
            rows.withMetadata(
                "values",
                ArrayMetadata.empty()
                    .withExtents(Shape.of(4, cols))
                    .withBlockShape(Shape.of(1, cols))
                    .toMetadata()),
            "0");
    assertEquals(
        "Optional[(1, " + cols / 2 + ")]",
        ArrayMetadata.of(sums.schema().apply("values").metadata()).blockShape(2).toString());
    assertEquals(
        List.of(
            RowFactory.create(0L, 0L, 1, cols / 2, 6f, 6f),
            RowFactory.create(0L, cols / 2L, 1, cols / 2, 6f, 40f)),
        sums.selectExpr("row", "col", "rows", "cols", "values[0]", "values[cols - 1]")
            .orderBy("col")
            .collectAsList());
  }

  @Test
  void sumsOfUnsignedIntegersAreNoneOfThem() {
    Dataset<Row> unsigned =
        TestArray.matrix(ElementType.INT64, 4, 3, 2, 3)
            .toDataFrame(spark, 1)
            .drop("tag")
            .withMetadata("values", ArrayMetadata.empty().withFileType("<u4").toMetadata());
    for (Dataset<Row> found :
        List.of(MatrixBlocks.sum(unsigned, "1"), MatrixBlocks.argmax(unsigned, "1"))) {
      assertEquals("Optional[<i8]", fileType(found));
    }
    assertEquals("Optional[<u4]", fileType(MatrixBlocks.max(unsigned, "1")));
  }

  private static String fileType(Dataset<Row> blocks) {
    return ArrayMetadata.of(blocks.schema().apply("values").metadata()).fileType().toString();
  }

  @Test
  void placesInTheWholeMatrix() {
    Row most = MatrixBlocks.argmax(matrix()).first();
    assertEquals(119L, most.<Long>getAs("value"));
    DenseArray along = DenseArray.of(MatrixBlocks.argmax(matrix(), "1"), ROWS, 1);
    for (Object place : along.values()) {
      assertEquals(9L, place);
    }
  }

  @Test
  void holesAndStaleMetadataAreRefused() {
    Dataset<Row> hole = saying(matrix().where("row <> 5 OR col <> 4"), matrix());
    assertFails(
        () -> MatrixBlocks.sum(hole).collectAsList(),
        "or a re-block before it",
        "in MatrixBlocks.sum, where places count");
    assertEquals(
        119.0 * 120 / 2 / 8 - 5.0 * 4 * (7 * COLS + 5.5) / 8,
        MatrixBlocks.sum(MatrixBlocks.reblock(hole, 5, 4, Missing.ZERO)).first().getDouble(0));
    Dataset<Row> moved =
        saying(matrix().selectExpr("row", "col + 1 AS col", "rows", "cols", "values"), matrix());
    assertFails(
        () -> MatrixBlocks.sum(moved, "1").collectAsList(),
        "block at row",
        "the column metadata tilespark.");
  }

  @Test
  void whatIsRefused() {
    assertFails(() -> MatrixBlocks.sum(matrix(), "z"), "MatrixBlocks.sum: axis is 'z'", "row, col");
    assertFails(() -> MatrixBlocks.sum(matrix(), "0,0"), "axis is '0,0'");
    assertFails(
        () -> MatrixBlocks.norm(matrix(), "0", "fro"),
        "ord is 'fro' along 1 axes",
        "along one axis");
    assertFails(() -> MatrixBlocks.norm(matrix(), "0", "nuc"), "ord is 'nuc' along 1 axes");
    assertFails(
        () -> VolumeBlocks.norm(MatrixBlocks.stack(matrix(), matrix()), "0,1", "2"),
        "ord is '2' along 2 axes");
    assertFails(
        () -> MatrixBlocks.norm(matrix(), "0", "3"), "is '3'; expected one of 1, 2, inf, fro");
    Dataset<Row> complex =
        TestArray.matrix(ElementType.FLOAT64, 4, 4, 2, 2)
            .withImag()
            .toDataFrame(spark, 1)
            .drop("tag");
    assertFails(() -> MatrixBlocks.argmin(complex), "MatrixBlocks.argmin", "blocks are complex");
    assertFalse(MatrixBlocks.sum(complex).isEmpty());
    Dataset<Row> truth = MatrixBlocks.map(matrix(), "v > 3");
    assertFails(
        () -> MatrixBlocks.ptp(truth, "0"), "MatrixBlocks.ptp", "truth values", "CAST(v AS");
    assertEquals(
        1, (byte) MatrixBlocks.ptp(MatrixBlocks.map(truth, "CAST(v AS TINYINT)")).first().getAs(0));
    assertFails(
        () -> MatrixBlocks.sum(matrix().selectExpr("*", "1 AS Value")),
        "MatrixBlocks.sum: further column Value has the name of the result");
    assertFalse(MatrixBlocks.sum(matrix().selectExpr("*", "1 AS Value"), "0").isEmpty());
    Dataset<Row> two =
        MatrixBlocks.withoutExtents(
            TestArray.matrix(ElementType.INT8, 4, 4, 4, 4)
                .toDataFrame(spark, 1)
                .selectExpr("*", "1 AS sample")
                .drop("tag")
                .union(
                    TestArray.matrix(ElementType.INT8, 4, 5, 4, 5)
                        .toDataFrame(spark, 1)
                        .selectExpr("*", "2 AS sample")
                        .drop("tag")));
    assertFails(() -> MatrixBlocks.sum(two), "have different extents");
  }
}
