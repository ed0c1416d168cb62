package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.exchange.Exchange;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.Work;

/** Re-blocks next to files, which are read and written in any blocks: nothing is exchanged. */
class NpyReblockTest extends SparkTest {
  private static final int ROWS = 40;
  private static final int COLS = 600;

  @TempDir Path dir;

  // ---- above a file that is read

  @Tag("versions")
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFileIsReadInTheBlocksOfAReblock(boolean fortran) {
    Path file = file(new NpyFixture("i8", ROWS, COLS).file('<', fortran, 1));
    int rows = fortran ? ROWS : 7;
    int cols = fortran ? 70 : COLS;
    String filter = "row >= 7 or col >= 70";
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> blocks = load(file, "16,150");
            Dataset<Row> again = reblock(blocks, rows, cols);
            Dataset<Row> expected = load(file, rows + "," + cols);
            assertEquals(0, exchanges(again), () -> explained(again));
            assertEquals(expected.schema(), again.schema());
            assertEquals(expected.collectAsList(), again.collectAsList());
            assertEquals(sizeInBytes(expected), sizeInBytes(again));
            Dataset<Row> part = again.where(filter);
            assertTrue(
                explained(part).contains("blockShape [" + rows + ", " + cols + "], PushedFilters"),
                () -> explained(part));
            assertEquals(sizeInBytes(expected.where(filter)), sizeInBytes(part));
            assertEquals(expected.where(filter).collectAsList(), part.collectAsList());
          });
    }
  }

  @Test
  void columnsInAnyOrder() {
    Path file = file("i4", ROWS, COLS);
    Dataset<Row> turned =
        reblock(load(file, "16,150").select("values", "cols", "rows", "col", "row"), 7, COLS);
    Dataset<Row> expected = load(file, "7,600");
    assertEquals(0, exchanges(turned), () -> explained(turned));
    assertEquals(
        expected.select("values", "cols", "rows", "col", "row").collectAsList(),
        turned.collectAsList());
    assertEquals(
        expected.union(expected).collectAsList(),
        reblock(load(file, "16,150"), 7, COLS)
            .union(turned.select("row", "col", "rows", "cols", "values"))
            .collectAsList());
  }

  @Test
  void complexVolumes() {
    Path file = file(new NpyFixture("c16", 9, 7, 11).file('>', false, 2));
    Dataset<Row> slabs = VolumeBlocks.reblock(load(file, "4,3,5"), 2, 7, 11);
    assertEquals(0, exchanges(slabs), () -> explained(slabs));
    assertEquals(load(file, "2,7,11").collectAsList(), slabs.collectAsList());
    Dataset<Row> real = VolumeBlocks.reblock(load(file, "4,3,5").drop("imag"), 2, 7, 11);
    assertEquals(0, exchanges(real), () -> explained(real));
    assertEquals(load(file, "2,7,11").drop("imag").collectAsList(), real.collectAsList());
  }

  @Test
  void arraysWithoutElementsAndOfOne() {
    Dataset<Row> empty = reblock(load(file("f4", 0, 5), "2,5"), 3, 5);
    assertEquals(0, empty.count());
    Dataset<Row> one = reblock(load(file("f4", 1, 1), "1,1"), 5, 5, Missing.ZERO);
    assertEquals(0, exchanges(one), () -> explained(one));
    assertEquals(1, one.collectAsList().size());
  }

  @Test
  void oneFileInTwoTilings() {
    Path file = file("i4", ROWS, COLS);
    Dataset<Row> blocks = load(file, "16,150");
    Dataset<Row> sum = MatrixBlocks.zip(load(file, "8,600"), reblock(blocks, 8, COLS), "a - b");
    assertEquals(0, exchanges(sum), () -> explained(sum));
    assertEquals(ROWS * COLS, sum.selectExpr("explode(values) v").where("v = 0").count());
    Dataset<Row> both = reblock(blocks, 8, COLS).union(reblock(blocks, 5, COLS)).union(blocks);
    assertEquals(0, exchanges(both), () -> explained(both));
    assertEquals(
        load(file, "8,600").union(load(file, "5,600")).union(blocks).collectAsList(),
        both.collectAsList());
  }

  @Test
  void whatIsReadMoreSlowlyIsExchanged() {
    Path file = file("i8", ROWS, COLS);
    Dataset<Row> columns = reblock(load(file, "10,600"), ROWS, 70);
    assertNotEquals(0, exchanges(columns));
    assertEquals(load(file, "40,70").collectAsList(), columns.orderBy("col").collectAsList());
  }

  @Test
  void partOfAFileIsCheckedAsBefore() {
    Dataset<Row> part = load(file("i8", ROWS, COLS), "16,150").where("row != 16 or col != 150");
    String reason = reasonOf(() -> reblock(part, 7, COLS).collectAsList());
    assertTrue(
        reason.contains("block at row 16, col 150: no block of the input holds"), () -> reason);
  }

  @Test
  void otherExtentsAndOtherColumnsAreCheckedAsBefore() {
    Dataset<Row> blocks = load(file("i8", ROWS, ROWS), "16,16");
    Dataset<Row> longer = reblock(MatrixBlocks.withExtents(blocks, ROWS + 1, ROWS), 7, ROWS);
    assertTrue(
        reasonOf(longer::collectAsList).contains("no block of the input holds"),
        () -> explained(longer));
    Dataset<Row> turned =
        blocks.selectExpr("col AS row", "row AS col", "cols AS rows", "rows AS cols", "values");
    assertNotEquals(0, exchanges(reblock(turned, 7, ROWS)));
  }

  @Test
  void aFileThatChangedIsNoticed() throws IOException {
    byte[] content = new NpyFixture("i8", ROWS, COLS).canonical();
    Path file = file(content);
    FileTime time = Files.getLastModifiedTime(file);
    Dataset<Row> again = reblock(load(file, "16,150"), 7, COLS);
    Files.write(file, Arrays.copyOf(content, content.length - 8));
    Files.setLastModifiedTime(file, time);
    assertFails(again::collectAsList, "in.npy was changed since the DataFrame was made", "found");
    Files.write(file, content);
    Files.setLastModifiedTime(file, FileTime.fromMillis(time.toMillis() + 1));
    assertFails(again::collectAsList, "was changed since", "Load it again");
  }

  @Test
  void aCacheIsRead() throws IOException {
    Path file = file("i8", ROWS, COLS);
    List<Row> expected = load(file, "7,600").collectAsList();
    Dataset<Row> blocks = load(file, "16,150").cache();
    try {
      blocks.count();
      Files.delete(file);
      assertEquals(expected, reblock(blocks, 7, COLS).orderBy("row").collectAsList());
    } finally {
      blocks.unpersist(true);
    }
  }

  // ---- below a file that is written

  @Tag("versions")
  @Test
  void aReblockBelowAFileIsLeftOut() {
    Path file = file("i4", ROWS, COLS);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> blocks = MatrixBlocks.map(load(file, "16,600"), "v - 3");
            byte[] expected = saved(blocks);
            Dataset<Row> small = reblock(blocks, 5, 20);
            assertNotEquals(0, exchanges(small));
            Work work = work(() -> save(small));
            assertEquals(
                List.of(1, 1, 0L), List.of(work.jobs(), work.stages(), work.shuffledBytes()));
            assertArrayEquals(expected, bytes());
            assertArrayEquals(
                expected, saved(small.select("values", "cols", "rows", "col", "row")));
          });
    }
  }

  @Test
  void rowsOf64KibAreLongEnough() {
    Path file = file("i2", 3, 70_000);
    Dataset<Row> wide = MatrixBlocks.map(load(file, "3,32768"), "v");
    byte[] expected = saved(wide);
    assertEquals(0, work(() -> save(reblock(wide, 3, 70_000))).shuffledBytes());
    assertArrayEquals(expected, bytes());
    Dataset<Row> narrow = MatrixBlocks.map(load(file, "3,32767"), "v");
    assertNotEquals(0, work(() -> save(reblock(narrow, 3, 70_000))).shuffledBytes());
    assertArrayEquals(expected, bytes());
  }

  @Test
  void missingBlocksAreErrors() {
    Dataset<Row> part =
        MatrixBlocks.map(load(file("i4", ROWS, COLS), "16,600"), "v - 3").where("row != 16");
    String reason = reasonOf(() -> save(reblock(part, 5, 20)));
    assertTrue(
        reason.contains("row 16, col 0") && reason.contains("Nothing was written"), () -> reason);
    assertTrue(Files.notExists(dir.resolve("out.npy")));
    save(reblock(part, 5, 20, Missing.ZERO));
    assertEquals(
        16 * COLS,
        load(dir.resolve("out.npy"), "40,600")
            .selectExpr("explode(values) v")
            .where("v = 0")
            .count());
  }

  @Test
  void blocksThatOverlapAreErrors() {
    Dataset<Row> blocks = MatrixBlocks.map(load(file("i4", ROWS, COLS), "16,600"), "v - 3");
    Dataset<Row> twice = blocks.union(blocks.where("row = 16"));
    String reason = reasonOf(() -> save(reblock(twice, 5, 20)));
    assertTrue(reason.contains("row 16, col 0"), () -> reason);
    assertTrue(Files.notExists(dir.resolve("out.npy")));
  }

  @Test
  void aCachedResultIsWritten() throws IOException {
    Path file = file("i4", ROWS, COLS);
    Dataset<Row> blocks = MatrixBlocks.map(load(file, "16,600"), "v - 3");
    byte[] expected = saved(blocks);
    Dataset<Row> small = reblock(blocks, 5, 20).cache();
    try {
      assertEquals(8 * 30, small.count());
      Files.delete(file);
      assertArrayEquals(expected, saved(small));
    } finally {
      small.unpersist(true);
    }
    assertThrows(Exception.class, () -> save(small));
  }

  // ---- both

  @Test
  void aTransformIsOneExchange() {
    Path file = file("i2", 6, 256, 128);
    FftOptions options = FftOptions.defaults().withOutput("natural").withDecomposition("slabs");
    Dataset<Row> volume =
        spark
            .read()
            .format("npy")
            .option("as", "float")
            .option("blockShape", "4,50,60")
            .load(file.toString());
    Dataset<Row> spectrum = VolumeBlocks.fft(volume, options);
    assertEquals(2, exchanges(spectrum), () -> explained(spectrum));
    Work work = work(() -> save(spectrum));
    assertEquals(2, work.stages(), work::toString);
    byte[] found = bytes();
    spectrum.cache();
    try {
      assertArrayEquals(saved(spectrum), found);
    } finally {
      spectrum.unpersist(true);
    }
  }

  @Test
  void anyTilings() {
    for (int seed = 0; seed < 24; seed++) {
      Random random = new Random(seed);
      boolean isMatrix = random.nextBoolean();
      long[] extents = sizes(random, isMatrix ? 2 : 3, 1, 12);
      long[] blocks = sizes(random, extents.length, 1, 13);
      long[] target = sizes(random, extents.length, 1, 13);
      boolean fortran = random.nextBoolean();
      NpyFixture array = new NpyFixture(random.nextBoolean() ? "i4" : "c8", extents);
      Dataset<Row> df = load(file(array.file('<', fortran, 1)), text(blocks));
      int[] to = Arrays.stream(target).mapToInt(Math::toIntExact).toArray();
      Dataset<Row> again =
          isMatrix ? reblock(df, to[0], to[1]) : VolumeBlocks.reblock(df, to[0], to[1], to[2]);
      String which =
          "seed %d: %s in %s, fortran %s, to %s"
              .formatted(seed, text(extents), text(blocks), fortran, text(target));
      assertArrayEquals(array.canonical(), saved(again), which);
      assertEquals(blocksOf(load(dir.resolve("out.npy"), text(target))), blocksOf(again), which);
    }
  }

  private static long[] sizes(Random random, int rank, int least, int most) {
    return LongStream.generate(() -> random.nextInt(least, most + 1)).limit(rank).toArray();
  }

  private static String text(long[] numbers) {
    return Arrays.stream(numbers).mapToObj(Long::toString).collect(Collectors.joining(","));
  }

  private static List<String> blocksOf(Dataset<Row> blocks) {
    return blocks.collectAsList().stream().map(Row::toString).sorted().toList();
  }

  // ----

  private static Dataset<Row> reblock(Dataset<Row> blocks, int rows, int cols) {
    return reblock(blocks, rows, cols, Missing.ERROR);
  }

  private static Dataset<Row> reblock(Dataset<Row> blocks, int rows, int cols, Missing missing) {
    return MatrixBlocks.reblock(blocks, rows, cols, missing);
  }

  private static int exchanges(Dataset<Row> df) {
    return PlanNodes.all(plan(df), Exchange.class).size();
  }

  private static String sizeInBytes(Dataset<Row> df) {
    return plan(df).optimizedPlan().stats().sizeInBytes().toString();
  }

  private static Work work(Runnable query) {
    try {
      return workOf(query);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Dataset<Row> load(Path file, String blockShape) {
    return spark.read().format("npy").option("blockShape", blockShape).load(file.toString());
  }

  private Path file(String code, long... shape) {
    return file(new NpyFixture(code, shape).canonical());
  }

  private Path file(byte[] content) {
    Path file = dir.resolve("in.npy");
    NpyFixture.write(file, content);
    return file;
  }

  private void save(Dataset<Row> blocks) {
    blocks.write().format("npy").mode("overwrite").save(dir.resolve("out.npy").toString());
  }

  private byte[] saved(Dataset<Row> blocks) {
    save(blocks);
    return bytes();
  }

  private byte[] bytes() {
    try {
      return Files.readAllBytes(dir.resolve("out.npy"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
