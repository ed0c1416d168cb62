package org.tilespark.spark.slice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.exchange.CheckedBlocksExec;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Concatenated arrays, matrices as planes of a volume, and parts with an origin of their own. */
class ConcatBlocksTest extends SparkTest {
  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }

  private static Dataset<Row> blocks(TestArray array) {
    return array.toDataFrame(spark, 2).drop("tag");
  }

  /** Cuts an array in three along an axis, and puts the parts together again. */
  private static Dataset<Row> cutAndJoined(TestArray array, int axis, long first, long second) {
    Dataset<Row> df = blocks(array);
    boolean isMatrix = array.kind().rank() == 2;
    String letter = array.kind().offsetColumns().get(axis);
    List<Dataset<Row>> parts =
        List.of("0:" + first, first + ":" + second, second + ":").stream()
            .map(part -> ":,".repeat(axis) + part)
            .map(text -> isMatrix ? MatrixBlocks.slice(df, text) : VolumeBlocks.slice(df, text))
            .toList();
    return isMatrix
        ? MatrixBlocks.concat(letter, parts.get(0), parts.get(1), parts.get(2))
        : VolumeBlocks.concat(letter, parts.get(0), parts.get(1), parts.get(2));
  }

  private static void assertWhole(TestArray array, Dataset<Row> df) {
    array.assertElements(array.extents(), at -> at, df);
    assertEquals(array.extents(), metadata(df).extents(array.kind().rank()).orElseThrow());
  }

  @ParameterizedTest
  @EnumSource
  void everyType(ElementType type) {
    TestArray matrix = TestArray.matrix(type, 23, 17, 8, 5);
    assertWhole(matrix, cutAndJoined(matrix, 0, 3, 11));
    assertWhole(matrix, cutAndJoined(matrix, 1, 1, 16));
    TestArray volume = TestArray.volume(type, 6, 5, 7, 4, 3, 5).withImag();
    for (int axis = 0; axis < 3; axis++) {
      if (Sampling.skips(type.ordinal() + axis, 3)) {
        continue;
      }
      assertWhole(volume, cutAndJoined(volume, axis, 2, 3));
    }
  }

  @Test
  void randomPartsInEveryMode() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (Map<String, String> mode : sampledModes()) {
      for (int n = 0; n < 3; n++) {
        TestArray array =
            TestArray.volume(
                ElementType.FLOAT64,
                3 + random.nextInt(9),
                3 + random.nextInt(9),
                3 + random.nextInt(9),
                1 + random.nextInt(5),
                1 + random.nextInt(5),
                1 + random.nextInt(5));
        int axis = random.nextInt(3);
        long first = 1L + random.nextInt((int) array.extents().extent(axis) - 2);
        long second = first + 1L + random.nextInt((int) (array.extents().extent(axis) - first - 1));
        try {
          with(mode, () -> assertWhole(array, cutAndJoined(array, axis, first, second)));
        } catch (AssertionError e) {
          throw new AssertionError("seed " + seed + ": " + array + " along " + axis, e);
        }
      }
    }
  }

  @Test
  void oneStageForEachInputAndNoExchange(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 24, 20, 8, 5);
    String path = dir.resolve("a.npy").toString();
    blocks(array).write().format("npy").save(path);
    Dataset<Row> df = spark.read().format("npy").option("blockShape", "8,5").load(path);
    Dataset<Row> three =
        MatrixBlocks.transpose(
            MatrixBlocks.concat(
                "row",
                MatrixBlocks.transpose(df),
                MatrixBlocks.transpose(df),
                MatrixBlocks.transpose(df)));
    array.assertElements(Shape.of(24, 60), at -> new long[] {at[0], at[1] % 20}, three);
    assertEquals(3, PlanNodes.computing(plan(three).executedPlan()).size(), () -> explained(three));
    assertEquals(List.of(), PlanNodes.all(plan(three), Exchange.class));
    // A slice reads only the arrays, and the blocks of them, that it needs.
    Dataset<Row> sliced = MatrixBlocks.slice(MatrixBlocks.concat("col", df, df, df), "9, 38:43");
    array.assertElements(Shape.of(1, 5), at -> new long[] {9, (38 + at[1]) % 20}, sliced);
    sliced.collectAsList();
    long read =
        PlanNodes.all(
                plan(sliced), org.apache.spark.sql.execution.datasources.v2.BatchScanExec.class)
            .stream()
            .mapToLong(scan -> (Long) scan.metrics().apply("numOutputRows").value())
            .sum();
    assertEquals(2, read, () -> explained(sliced));
  }

  @Test
  void planesOfEachBranchAreMatrices(@TempDir Path dir) {
    TestArray array = TestArray.volume(ElementType.FLOAT64, 3, 5, 4, 1, 2, 4);
    String path = dir.resolve("a.npy").toString();
    blocks(array).write().format("npy").save(path);
    Dataset<Row> df = spark.read().format("npy").option("blockShape", "1,2,4").load(path);
    ArrayMetadata planes =
        ArrayMetadata.empty().withExtents(Shape.of(5, 8)).withBlockShape(Shape.of(2, 4));
    Dataset<Row> matrices =
        VolumeBlocks.concat("z", df, df)
            .select(
                functions.col("x").as("batch"),
                functions.col("y").as("row"),
                functions.col("z").as("col"),
                functions.col("ny").as("rows"),
                functions.col("nz").as("cols"),
                functions.col("values").as("values", planes.toMetadata()));
    TestArray plane = TestArray.matrix(ElementType.FLOAT64, 5, 4, 2, 4);
    plane.assertElements(
        Shape.of(5, 8),
        at -> new long[] {at[0], at[1] % 4},
        MatrixBlocks.scale(matrices.where("batch = 0").drop("batch"), 1));
  }

  @ParameterizedTest(name = "{0} and {1}, in blocks of {2} and {3}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          16,9 | 8,9  | 8,5 | 8,5  | 8,5
          16,9 | 13,9 | 8,5 | 8,5  | 8,5
          16,9 | 3,9  | 8,5 | 3,5  | 8,5
          15,9 | 8,9  | 8,5 | 8,5  |
          16,9 | 8,9  | 8,5 | 4,5  |
          16,9 | 8,9  | 8,5 | 8,9  |
          """)
  void knownShapesOfBlocks(
      String first, String second, String blocks, String otherBlocks, String expected) {
    Dataset<Row> both =
        MatrixBlocks.concat("row", stated(first, blocks), stated(second, otherBlocks));
    assertEquals(
        expected == null ? "" : expected, metadata(both).blockShape(2).map(Shape::text).orElse(""));
  }

  private static Dataset<Row> stated(String extents, String blocks) {
    long[] shape = Shape.parse("test", extents, 2).toArray();
    long[] block = Shape.parse("test", blocks, 2).toArray();
    TestArray array =
        TestArray.matrix(ElementType.FLOAT32, shape[0], shape[1], (int) block[0], (int) block[1]);
    Dataset<Row> df = MatrixBlocks.withExtents(blocks(array), shape[0], shape[1]);
    return df.withMetadata("values", metadata(df).withBlockShape(Shape.of(block)).toMetadata());
  }

  @Test
  void batchesAndColumnsInAnotherOrder() {
    TestArray array = TestArray.matrix(ElementType.INT16, 10, 6, 4, 4);
    Dataset<Row> one = blocks(array).withColumn("sample", functions.lit(1));
    Dataset<Row> two =
        one.union(blocks(array).withColumn("sample", functions.lit(2)))
            .select("sample", "values", "cols", "rows", "col", "row");
    Dataset<Row> both = MatrixBlocks.concat("0", two.where("sample > 0"), two);
    assertEquals(List.of(two.columns()), List.of(both.columns()));
    for (int sample : List.of(1, 2)) {
      array.assertElements(
          Shape.of(20, 6), at -> new long[] {at[0] % 10, at[1]}, both.where("sample = " + sample));
    }
  }

  @Test
  void anArrayThatOneSideLacksIsAnError() {
    Dataset<Row> array = blocks(TestArray.matrix(ElementType.INT16, 10, 6, 4, 4));
    Dataset<Row> one = array.withColumn("sample", functions.lit(1));
    Dataset<Row> both = one.union(array.withColumn("sample", functions.lit(2)));
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            assertFails(
                () -> MatrixBlocks.concat("row", one, both).collectAsList(),
                "the matrix of sample 2: what is combined with it is not there",
                "that of the second operand alone (in MatrixBlocks.concat)");
            assertFails(
                () -> MatrixBlocks.concat("col", both, both, one).count(),
                "the matrix of sample 2",
                "that of the first operand alone");
            assertFails(
                () -> MatrixBlocks.stack(both, one).collectAsList(), "the volume of sample 2");
          });
    }
    assertEquals(
        List.of(),
        PlanNodes.all(
            plan(MatrixBlocks.concat("row", both, MatrixBlocks.map(both, "v"), both)),
            CheckedBlocksExec.class));
  }

  @Test
  void whatDoesNotFit() {
    Dataset<Row> a = blocks(TestArray.matrix(ElementType.FLOAT32, 8, 6, 4, 4));
    Dataset<Row> wider = blocks(TestArray.matrix(ElementType.FLOAT32, 8, 7, 4, 4));
    Dataset<Row> doubles = blocks(TestArray.matrix(ElementType.FLOAT64, 8, 6, 4, 4));
    Dataset<Row> complex = blocks(TestArray.matrix(ElementType.FLOAT32, 8, 6, 4, 4).withImag());
    assertTrue(
        reasonOf(() -> MatrixBlocks.concat("row", a, wider))
            .contains(
                "the first matrix's extents are (8, 6), the second matrix's are (8, 7); expected"
                    + " the same along all axes but row"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.concat("row", a, doubles))
            .contains("values are ARRAY<FLOAT>, the second matrix's are ARRAY<DOUBLE>"));
    assertTrue(reasonOf(() -> MatrixBlocks.stack(a, complex)).contains("complex ARRAY<FLOAT>"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.concat("row", a, a.withColumn("n", functions.lit(1))))
            .contains("further columns are ()"));
    assertTrue(reasonOf(() -> MatrixBlocks.concat("x", a, a)).contains("axis is 'x'"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.stack(a, wider))
            .contains(
                "the first volume's extents are (1, 8, 6), the second volume's are (1, 8, 7)"));
  }

  @Test
  void matricesAsPlanes() {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 9, 7, 4, 3).withImag();
    Dataset<Row> a = blocks(array);
    Dataset<Row> volume = MatrixBlocks.stack(a, MatrixBlocks.flip(a), a);
    assertEquals(Shape.of(3, 9, 7), metadata(volume).extents(3).orElseThrow());
    for (int x = 0; x < 3; x++) {
      boolean isFlipped = x == 1;
      array.assertElements(
          Shape.of(9, 7),
          at -> isFlipped ? new long[] {8 - at[0], 6 - at[1]} : at,
          volume
              .where("x = " + x)
              .selectExpr("y AS row", "z AS col", "ny AS rows", "nz AS cols", "values", "imag"));
    }
    assertEquals(27, VolumeBlocks.permute(volume, "zxy").collectAsList().size());
  }

  // ---- origins

  @Test
  void filteredFramesGetAnOrigin(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.INT32, 30, 25, 8, 5);
    String path = dir.resolve("a.npy").toString();
    blocks(array).write().format("npy").save(path);
    Dataset<Row> npy = spark.read().format("npy").option("blockShape", "8,5").load(path);
    for (Dataset<Row> df : List.of(npy, blocks(array))) {
      Dataset<Row> part = MatrixBlocks.withOrigin(df.where("row >= 8 AND col BETWEEN 5 AND 10"));
      array.assertElements(Shape.of(22, 10), at -> new long[] {at[0] + 8, at[1] + 5}, part);
      assertEquals(Shape.of(22, 10), metadata(part).extents(2).orElseThrow());
      assertWhole(array, MatrixBlocks.withOrigin(df));
    }
    assertTrue(
        reasonOf(() -> MatrixBlocks.withOrigin(npy.where("row > 99")))
            .contains("there are no blocks"));
    Dataset<Row> stale = MatrixBlocks.withExtents(npy, 20, 25).where("row >= 8");
    assertFails(
        () -> MatrixBlocks.withOrigin(stale).collectAsList(),
        "block at row 16, col",
        "says [20, 25]");
    Dataset<Row> batch = npy.withColumn("sample", functions.expr("CAST(row / 8 AS INT)"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.withOrigin(batch)).contains("different parts along row"));
    Dataset<Row> below = npy.withColumn("row", functions.expr("row - 8"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.withOrigin(below))
            .contains("a block starts at row -8; expected 0 or more"));
  }
}
