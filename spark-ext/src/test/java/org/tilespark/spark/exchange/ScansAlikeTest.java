package org.tilespark.spark.exchange;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleBinaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.FormattedMode$;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.Work;

/** Stored arrays of one tiling meet without an exchange and without a look at their places. */
class ScansAlikeTest extends SparkTest {
  private static final int ROWS = 61;
  private static final int COLS = 83;

  /** Several tasks for small files. */
  private static final Map<String, String> TASKS =
      Map.of(
          "spark.sql.files.openCostInBytes", "1",
          "spark.sql.files.maxPartitionBytes", "20000");

  @TempDir static Path dir;
  private static boolean areThere;

  @BeforeEach
  void files() {
    if (!areThere) {
      areThere = true;
      write("x", TestArray.matrix(ElementType.FLOAT64, ROWS, COLS, 40, 40));
      write("y", TestArray.matrix(ElementType.FLOAT32, ROWS, COLS, 40, 40));
      write("square", TestArray.matrix(ElementType.FLOAT64, ROWS, ROWS, 40, 40));
      write("volume", TestArray.volume(ElementType.FLOAT64, 17, 12, 23, 9, 9, 9));
    }
  }

  @Tag("versions")
  @Test
  void filesToAFileAreOneJobOfOneStage() {
    for (Map<String, String> mode : executionModes()) {
      with(mode, () -> with(TASKS, ScansAlikeTest::assertOneStage));
    }
  }

  private static void assertOneStage() {
    Dataset<Row> sum = MatrixBlocks.zip(read("x"), read("y"), "a * b + 1");
    assertMetInPlace(sum);
    assertEquals(0, PlanNodes.all(plan(sum), CheckedBlocksExec.class).size());
    Work work = work(() -> store(sum, "out"));
    assertEquals(List.of(1, 1, 0L), List.of(work.jobs(), work.stages(), work.shuffledBytes()));
    assertTrue(work.tasks() > 2, work::toString); // 61 * 83 elements of 8 and of 4 bytes
    assertValues((x, y) -> x * y + 1, read("out"));
    Work copy = work(() -> store(MatrixBlocks.map(read("x"), "v + 1"), "out"));
    assertEquals(List.of(1, 1), List.of(copy.jobs(), copy.stages()));
    assertValues((x, y) -> x + 1, read("out"));
  }

  @Test
  void tasksThatReadOneBlockOrAll() {
    Dataset<Row> sum = MatrixBlocks.zip(read("x"), read("y"), "a - b / 2");
    assertEquals(1, sum.rdd().getNumPartitions());
    assertValues((x, y) -> x - y / 2, sum);
    with(
        Map.of(
            "spark.sql.files.openCostInBytes", "1",
            "spark.sql.files.maxPartitionBytes", "1"),
        () -> {
          Dataset<Row> single = MatrixBlocks.zip(read("x"), read("y"), "a - b / 2");
          assertEquals(4 * 6, single.rdd().getNumPartitions());
          assertValues((x, y) -> x - y / 2, single);
        });
  }

  @Test
  void programsAndSeveralArraysAreInTheSameStage() {
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () ->
              with(
                  TASKS,
                  () -> {
                    Dataset<Row> two =
                        MatrixBlocks.zip(
                            MatrixBlocks.map(read("x"), "v * 3"),
                            MatrixBlocks.scale(read("y"), 2),
                            "a - b");
                    assertMetInPlace(two);
                    assertValues((x, y) -> x * 3 - y * 2, two);
                    Dataset<Row> three = MatrixBlocks.zip(two, read("x"), "a * 2 + b");
                    assertMetInPlace(three);
                    assertValues((x, y) -> (x * 3 - y * 2) * 2 + x, three);
                    Dataset<Row> own = MatrixBlocks.add(read("x"), read("x"));
                    assertMetInPlace(own);
                    assertValues((x, y) -> x + x, own);
                    Dataset<Row> turned =
                        MatrixBlocks.zip(
                            MatrixBlocks.transpose(read("x")),
                            MatrixBlocks.transpose(read("y")),
                            "a + b * 5");
                    assertMetInPlace(turned);
                    assertValues((x, y) -> x + y * 5, MatrixBlocks.transpose(turned));
                  }));
    }
  }

  @Test
  void volumes() {
    with(
        TASKS,
        () -> {
          Dataset<Row> volume = read("volume", "5,12,9");
          Dataset<Row> sum =
              VolumeBlocks.zip(
                  VolumeBlocks.permute(volume, "yzx"),
                  VolumeBlocks.permute(VolumeBlocks.map(volume, "v * v"), "yzx"),
                  "b - a * a");
          assertMetInPlace(sum);
          assertEquals(0, sum.selectExpr("explode(values) v").where("v != 0").count());
          assertEquals(4 * 3, sum.count());
        });
  }

  @Test
  void otherTilingsAndOrdersAreExchanged() {
    with(
        TASKS,
        () -> {
          Dataset<Row> other = MatrixBlocks.zip(read("x"), read("y", "16,20"), "a - b * 7");
          assertNotEquals(0, exchanges(other));
          assertValues((x, y) -> x - y * 7, other);
          Dataset<Row> square = read("square");
          Dataset<Row> turned =
              MatrixBlocks.zip(square, MatrixBlocks.transpose(square), "a * 100 + b");
          assertNotEquals(0, exchanges(turned));
          double[] found = values(turned, ROWS, ROWS);
          for (int i = 0; i < found.length; i++) {
            double mirrored = i % ROWS * ROWS + i / ROWS;
            assertEquals(i / 8.0 * 100 + mirrored / 8.0, found[i]);
          }
        });
  }

  @Test
  void filesInFortranOrder() {
    with(
        TASKS,
        () -> {
          fortran("turned");
          Dataset<Row> both = MatrixBlocks.zip(read("turned"), read("turned"), "a * b");
          assertMetInPlace(both);
          assertValues((x, y) -> x * x, both);
          Dataset<Row> mixed = MatrixBlocks.zip(read("x"), read("turned"), "a - b");
          assertNotEquals(0, exchanges(mixed));
          assertValues((x, y) -> 0, mixed);
        });
  }

  @Test
  void whatIsLeftOutOnBothSides() {
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () ->
              with(
                  TASKS,
                  () -> {
                    Dataset<Row> sum = MatrixBlocks.zip(read("x"), read("y"), "a * b + 1");
                    Dataset<Row> part = MatrixBlocks.slice(sum, "40:61, 16:50");
                    assertEquals(0, exchanges(part), () -> explained(part));
                    double[] found = values(part, 21, 34);
                    for (int i = 0; i < found.length; i++) {
                      double at = (40 + i / 34) * COLS + 16 + i % 34;
                      assertEquals(at / 8 * at + 1, found[i]);
                    }
                    assertEquals(6, sum.where("row = 16").count());
                    assertEquals(12, sum.where("row % 32 = 0").count());
                  }));
    }
  }

  @Test
  void whatIsLeftOutOnOneSide() {
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () ->
              with(
                  TASKS,
                  () -> {
                    String first = "no block at row 0, col 0";
                    assertTrue(
                        reasonOf(() -> run(read("x").where("row >= 16"), read("y")))
                            .contains(first));
                    assertTrue(
                        reasonOf(
                                () -> run(read("x").where("row >= 16"), read("y").where("row>=16")))
                            .contains(first));
                    for (String condition : List.of("row >= 16", "row != 0 or size(values) = 7")) {
                      String second = reasonOf(() -> run(read("x"), read("y").where(condition)));
                      assertTrue(second.contains("block at row 0, col "), second);
                      assertTrue(second.contains("only the first matrix"), second);
                    }
                    String last = reasonOf(() -> run(read("x"), read("y").where("row < 48")));
                    assertTrue(last.contains("block at row 48, col "), last);
                    assertTrue(last.contains("only the first matrix"), last);
                  }));
    }
  }

  @Test
  void unionsOfParts() {
    with(
        TASKS,
        () -> {
          Dataset<Row> x = read("x");
          Dataset<Row> parts = saying(x.where("col >= 32").union(x.where("col < 32")), x);
          assertValues((a, b) -> a + 2 * b, MatrixBlocks.zip(parts, read("y"), "a + 2 * b"));
          assertValues((a, b) -> b + 2 * a, MatrixBlocks.zip(read("y"), parts, "a + 2 * b"));
          Dataset<Row> doubled = saying(x.union(x.where("row = 16 and col = 32")), x);
          assertTrue(reasonOf(() -> run(doubled, read("y"))).contains("row 16, col 32"));
        });
  }

  /** Columns may have other names and ids; of several arrays in a frame nothing is known. */
  @Test
  void renamedAndFurtherColumns() {
    Dataset<Row> x = read("x").select("values", "cols", "rows", "col", "row");
    Dataset<Row> renamed = MatrixBlocks.zip(x, x, "a + b");
    assertMetInPlace(renamed);
    assertValues((a, b) -> a + a, renamed);
    // Not the places of the file: a matrix of 83 rows in blocks that the metadata does not say.
    Dataset<Row> swapped =
        saying(x.selectExpr("col AS row", "row AS col", "rows", "cols", "values"), x);
    assertTrue(
        reasonOf(() -> run(swapped, swapped)).contains("the column metadata says blocks of"));
    Dataset<Row> batch = x.withColumn("sample", org.apache.spark.sql.functions.lit(1));
    assertValues((a, b) -> a * 3, MatrixBlocks.zip(batch, batch, "a * 2 + b").drop("sample"));
  }

  @Test
  void aFileThatIsWrittenAnewMeanwhile() {
    write("z", TestArray.matrix(ElementType.FLOAT64, ROWS, COLS, 40, 40));
    Dataset<Row> sum = MatrixBlocks.zip(read("x"), read("z"), "a + b");
    write("z", TestArray.matrix(ElementType.FLOAT64, COLS, ROWS, 40, 40));
    assertFails(sum::collectAsList, "was changed since");
  }

  /** Blocks come in the order of their places: Spark need not sort them by these. */
  @Test
  void blocksAreInOrder() {
    with(
        TASKS,
        () -> {
          Dataset<Row> sorted = read("x").sortWithinPartitions("row", "col");
          assertEquals(0, PlanNodes.all(plan(sorted), SortExec.class).size());
          assertEquals(24, sorted.select("values").count());
          Dataset<Row> other = read("x").select("col", "rows").sortWithinPartitions("col");
          assertEquals(1, PlanNodes.all(plan(other), SortExec.class).size());
        });
  }

  @Test
  void explainTells() {
    Dataset<Row> sum = MatrixBlocks.zip(read("x"), read("y"), "a + b");
    String plan = plan(sum).explainString(FormattedMode$.MODULE$);
    assertTrue(
        plan.contains("\nNo exchange: stored blocks at one place are read by one task\n"), plan);
  }

  // ----

  private static void run(Dataset<Row> a, Dataset<Row> b) {
    MatrixBlocks.zip(a, b, "a + b").write().format("noop").mode("overwrite").save();
  }

  private static Work work(Runnable query) {
    try {
      return workOf(query);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void write(String name, TestArray array) {
    store(array.toDataFrame(spark, 2).drop("tag"), name);
  }

  private static void store(Dataset<Row> blocks, String name) {
    blocks.write().format("npy").mode("overwrite").save(dir.resolve(name + ".npy").toString());
  }

  /** The numbers of x, column by column. */
  private static void fortran(String name) {
    String dict =
        "{'descr': '<f8', 'fortran_order': True, 'shape': (%d, %d), }".formatted(ROWS, COLS);
    ByteBuffer file = ByteBuffer.allocate(128 + 8 * ROWS * COLS).order(ByteOrder.LITTLE_ENDIAN);
    file.put((byte) 0x93).put("NUMPY".getBytes(StandardCharsets.US_ASCII)).put(new byte[] {1, 0});
    file.putShort((short) 118);
    file.put((dict + " ".repeat(117 - dict.length()) + "\n").getBytes(StandardCharsets.US_ASCII));
    for (int col = 0; col < COLS; col++) {
      for (int row = 0; row < ROWS; row++) {
        file.putDouble((row * COLS + col) / 8.0);
      }
    }
    try {
      Files.write(dir.resolve(name + ".npy"), file.array());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Dataset<Row> read(String name) {
    return read(name, "16,16");
  }

  private static Dataset<Row> read(String name, String blockShape) {
    return spark
        .read()
        .format("npy")
        .option("blockShape", blockShape)
        .load(dir.resolve(name + ".npy").toString());
  }

  private static void assertMetInPlace(Dataset<Row> df) {
    assertEquals(0, exchanges(df), () -> explained(df));
    assertEquals(1, PlanNodes.all(plan(df), BlockStageExec.class).size(), () -> explained(df));
  }

  private static int exchanges(Dataset<Row> df) {
    return PlanNodes.all(plan(df), Exchange.class).size();
  }

  /** Elements of y are their place in the matrix, and those of x are an eighth of it. */
  private static void assertValues(DoubleBinaryOperator of, Dataset<Row> df) {
    double[] expected = new double[ROWS * COLS];
    Arrays.setAll(expected, i -> of.applyAsDouble(i / 8.0, i));
    assertArrayEquals(expected, values(df, ROWS, COLS));
  }

  private static double[] values(Dataset<Row> df, int rows, int cols) {
    double[] all = new double[rows * cols];
    Arrays.fill(all, Double.NaN);
    for (Row block : df.select("row", "col", "cols", "values").collectAsList()) {
      List<Number> values = block.getList(3);
      for (int i = 0; i < values.size(); i++) {
        long row = block.getLong(0) + i / block.getInt(2);
        long col = block.getLong(1) + i % block.getInt(2);
        all[Math.toIntExact(row * cols + col)] = values.get(i).doubleValue();
      }
    }
    return all;
  }
}
