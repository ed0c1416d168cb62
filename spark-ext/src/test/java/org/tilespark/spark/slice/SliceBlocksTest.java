package org.tilespark.spark.slice;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.tilespark.arrow.blocks.Slice;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/**
 * Contents of slices of matrices and volumes, their metadata, and the data that are read for them.
 */
class SliceBlocksTest extends SparkTest {
  private static Dataset<Row> sliced(TestArray array, Dataset<Row> df, String text) {
    return array.kind() == BlockKind.MATRIX
        ? MatrixBlocks.slice(df, text)
        : VolumeBlocks.slice(df, text);
  }

  /** Compares with the elements that the text names. */
  private static void assertSlice(TestArray array, String text, Dataset<Row> found) {
    Slice slice = SliceText.parse("test", text, array.kind()).of(array.extents(), array.kind(), "");
    array.assertElements(slice.shape(), source(slice), found);
    ArrayMetadata metadata = metadata(found);
    assertEquals(slice.shape(), metadata.extents(array.kind().rank()).orElseThrow());
    metadata.blockShape(array.kind().rank()).ifPresent(shape -> assertGrid(array, shape, found));
  }

  private static UnaryOperator<long[]> source(Slice slice) {
    return at -> {
      for (int axis = 0; axis < at.length; axis++) {
        at[axis] = slice.ranges().get(axis).at(at[axis]);
      }
      return at;
    };
  }

  private static void assertGrid(TestArray array, Shape blockShape, Dataset<Row> found) {
    Shape extents = metadata(found).extents(array.kind().rank()).orElseThrow();
    for (Row row : found.drop("values", "imag").collectAsList()) {
      for (int axis = 0; axis < array.kind().rank(); axis++) {
        long offset = row.<Long>getAs(array.kind().offsetColumns().get(axis));
        long block = blockShape.extent(axis);
        assertEquals(0, offset % block, () -> row + " in a grid of " + blockShape);
        assertEquals(
            Math.min(block, extents.extent(axis) - offset),
            (long) row.<Integer>getAs(array.kind().sizeColumns().get(axis)),
            () -> row + " in a grid of " + blockShape);
      }
    }
  }

  private static ArrayMetadata metadata(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata());
  }

  private static Dataset<Row> npy(TestArray array, Path dir) {
    String path = dir.resolve("a.npy").toString();
    array.toDataFrame(spark, 2).drop("tag").write().format("npy").mode("overwrite").save(path);
    String shape = array.blockShape().toString().replaceAll("[() ]", "");
    return spark.read().format("npy").option("blockShape", shape).load(path);
  }

  @ParameterizedTest
  @EnumSource
  void everyType(ElementType type) {
    TestArray matrix = TestArray.matrix(type, 37, 53, 16, 10);
    String text = "30:2:-3, 5::2";
    assertSlice(matrix, text, MatrixBlocks.slice(matrix.toDataFrame(spark, 3).drop("tag"), text));
    TestArray volume = TestArray.volume(type, 9, 7, 11, 4, 3, 5).withImag();
    text = "1:8:2, -2, ::-1";
    assertSlice(volume, text, VolumeBlocks.slice(volume.toDataFrame(spark, 2).drop("tag"), text));
  }

  @Test
  void randomSlicesOfRandomTilings(@TempDir Path dir) {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int n = 0; n < 24; n++) {
      boolean isMatrix = random.nextBoolean();
      TestArray array =
          isMatrix
              ? TestArray.matrix(
                  ElementType.FLOAT64,
                  some(random, 40),
                  some(random, 40),
                  some(random, 12),
                  some(random, 12))
              : TestArray.volume(
                  ElementType.INT32,
                  some(random, 14),
                  some(random, 14),
                  some(random, 14),
                  some(random, 5),
                  some(random, 5),
                  some(random, 5));
      List<String> entries = new ArrayList<>();
      for (long extent : array.extents().toArray()) {
        entries.add(entry((int) extent, random));
      }
      String text = String.join(", ", entries);
      Dataset<Row> df =
          switch (n % 3) {
            case 0 -> array.toDataFrame(spark, 3).drop("tag");
            case 1 -> npy(array, dir);
            default -> array.toDataFrame(spark, 2, ragged(array.extents(), random));
          };
      int mode = n % 2;
      try {
        with(executionModes().get(mode), () -> assertSlice(array, text, sliced(array, df, text)));
      } catch (AssertionError e) {
        throw new AssertionError(
            "seed " + seed + ": " + text + " of " + array + ": " + e.getMessage(), e);
      }
    }
  }

  private static int some(Random random, int most) {
    return 1 + random.nextInt(most);
  }

  private static String entry(int extent, Random random) {
    int start = random.nextInt(extent);
    int step = some(random, 5);
    return switch (random.nextInt(5)) {
      case 0 -> ":";
      case 1 -> Integer.toString(random.nextBoolean() ? start : start - extent);
      case 2 -> start + "::" + step;
      case 3 -> start + "::-" + step;
      default -> start + ":" + (start + some(random, extent)) + ":" + step;
    };
  }

  /** Boxes that tile an array: slabs along the first axis, each cut along the last as it likes. */
  private static List<Box> ragged(Shape extents, Random random) {
    List<Box> boxes = new ArrayList<>();
    int last = extents.rank() - 1;
    for (long low = 0; low < extents.extent(0); ) {
      long high = Math.min(extents.extent(0), low + some(random, 6));
      for (long from = 0; from < extents.extent(last); ) {
        long to = Math.min(extents.extent(last), from + some(random, 9));
        long[] lows = new long[extents.rank()];
        long[] highs = extents.toArray();
        lows[0] = low;
        highs[0] = high;
        lows[last] = from;
        highs[last] = to;
        boxes.add(Box.between(lows, highs));
        from = to;
      }
      low = high;
    }
    return boxes;
  }

  @Test
  void flips() {
    TestArray matrix = TestArray.matrix(ElementType.INT8, 10, 7, 4, 3);
    Dataset<Row> df = matrix.toDataFrame(spark, 2).drop("tag");
    assertSlice(matrix, "::-1, ::-1", MatrixBlocks.flip(df));
    assertSlice(matrix, ":, ::-1", MatrixBlocks.flip(df, "col"));
    assertSlice(matrix, ":, :", MatrixBlocks.flip(MatrixBlocks.flip(df, "row"), "0"));
    TestArray volume = TestArray.volume(ElementType.FLOAT32, 5, 6, 7, 2, 6, 3);
    assertSlice(
        volume, "::-1, :, ::-1", VolumeBlocks.flip(volume.toDataFrame(spark, 2).drop("tag"), "xz"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.flip(df, "x"))
            .contains("axes is 'x'; expected some of row, col"));
  }

  @Test
  void crops() {
    TestArray matrix = TestArray.matrix(ElementType.INT8, 10, 7, 4, 3);
    Dataset<Row> df = matrix.toDataFrame(spark, 2).drop("tag");
    assertSlice(matrix, "2:-3, 1:", MatrixBlocks.crop(df, "2,3; 1,0"));
    assertSlice(matrix, "3:7, 3:4", MatrixBlocks.crop(df, "3"));
    assertSlice(matrix, ":, :", MatrixBlocks.crop(df, "0"));
    assertSlice(matrix, ":, :", MatrixBlocks.crop(MatrixBlocks.pad(df, "1,2; 5,0"), "1,2; 5,0"));
    TestArray volume = TestArray.volume(ElementType.FLOAT32, 5, 6, 7, 2, 6, 3);
    assertSlice(
        volume,
        ":-4, 2:-3, 6:",
        VolumeBlocks.crop(volume.toDataFrame(spark, 2).drop("tag"), "0,4; 2,3; 6,0"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.crop(df, "0; 4,3"))
            .contains("'4:-3' along col holds none of 7 elements"));
    assertTrue(reasonOf(() -> MatrixBlocks.crop(df, "-1")).contains("0 or more"));
  }

  // ---- what is read

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          16:32          | 7
          17:18, 20:31   | 2
          :, -1          | 5
          ::40, ::25     | 6
          60::-60, 5     | 2
          3:40:30, 21:49 | 6
          """)
  void onlyBlocksThatHoldSomethingAreRead(String text, int blocks, @TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 65, 63, 16, 10);
    Dataset<Row> found = MatrixBlocks.slice(npy(array, dir), text);
    assertSlice(array, text, found);
    assertEquals(blocks, rowsRead(found), () -> explained(found));
    assertFalse(optimized(found).contains("Filter"), () -> explained(found));
    Dataset<Row> transposed =
        MatrixBlocks.slice(MatrixBlocks.transpose(npy(array, dir)), swapped(text));
    assertEquals(blocks, rowsRead(transposed), () -> explained(transposed));
    assertEquals(1, PlanNodes.computing(plan(transposed).executedPlan()).size());
  }

  private static String swapped(String text) {
    String[] entries = text.split(",", -1);
    return (entries.length == 1 ? ":" : entries[1]) + ", " + entries[0];
  }

  /** Blocks that the only source gives. */
  private static long rowsRead(Dataset<Row> df) {
    List<Long> read = scans(df);
    assertEquals(1, read.size());
    return read.get(0);
  }

  /** Blocks that each source gives. */
  private static List<Long> scans(Dataset<Row> df) {
    df.collectAsList();
    return PlanNodes.all(plan(df), BatchScanExec.class).stream()
        .map(scan -> (Long) scan.metrics().apply("numOutputRows").value())
        .toList();
  }

  @Test
  void slicesOfSlicesReadWhatBothNeed(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 64, 60, 16, 10);
    Dataset<Row> once = MatrixBlocks.slice(npy(array, dir), "10:50, ::-2");
    Dataset<Row> twice = MatrixBlocks.slice(once, "5:7, 2:6");
    assertSlice(array, "15:17, 55:47:-2", twice);
    assertEquals(4, rowsRead(twice), () -> explained(twice));
    assertEquals(1, PlanNodes.computing(plan(twice).executedPlan()).size(), () -> explained(twice));
    assertTrue(explained(twice).contains("slice 15:17, 55:48:-2"), () -> explained(twice));
  }

  @Test
  void slicesThroughOtherOperators(@TempDir Path dir) {
    TestArray array = TestArray.volume(ElementType.FLOAT64, 16, 12, 8, 4, 4, 8);
    Dataset<Row> v = npy(array, dir);
    Dataset<Row> scaled = VolumeBlocks.slice(VolumeBlocks.scale(v, 1), "5:7");
    assertSlice(array, "5:7", scaled);
    assertEquals(3, rowsRead(scaled), () -> explained(scaled));
    // Along z blocks are whole; a transform over it needs no exchange, and no more blocks.
    FftOptions overZ = FftOptions.defaults().withAxes("z");
    Dataset<Row> spectrum = VolumeBlocks.slice(VolumeBlocks.fft(v, overZ), "5:7, 2, 1:3");
    assertEquals(1, rowsRead(spectrum), () -> explained(spectrum));
    assertEquals(1, PlanNodes.computing(plan(spectrum).executedPlan()).size());
    Dataset<Row> after = VolumeBlocks.fft(VolumeBlocks.slice(v, "5:7, 2, 1:7"), overZ);
    assertEquals(1, rowsRead(after), () -> explained(after));
    assertEquals(1, PlanNodes.computing(plan(after).executedPlan()).size(), () -> explained(after));
    Dataset<Row> stored = VolumeBlocks.fft(VolumeBlocks.slice(v, "5:7, 2, 1:7").cache(), overZ);
    assertEquals(
        stored.orderBy("x").selectExpr("x", "values", "imag").collectAsList(),
        after.orderBy("x").selectExpr("x", "values", "imag").collectAsList());
    spark.catalog().clearCache();
  }

  @Test
  void slicesOfSumsReadWhatTheyNeed(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT64, 40, 36, 8, 9);
    Dataset<Row> a = npy(array, dir);
    String text = "9:15, 20::3";
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> sum =
                MatrixBlocks.slice(MatrixBlocks.add(a, MatrixBlocks.scale(a, -0.5)), text);
            assertSlice(array, text, MatrixBlocks.scale(sum, 2));
            // Both are one stored array, whose places need no look.
            assertEquals(
                List.of(2L, 2L), scans(sum).stream().sorted().toList(), () -> explained(sum));
            // One side comes from an exchange, or from a slice, a cache, or blocks of a
            // permutation.
            for (Dataset<Row> other :
                List.of(
                    MatrixBlocks.reblock(array.toDataFrame(spark, 2).drop("tag"), 8, 9),
                    MatrixBlocks.slice(a, ":, :"),
                    MatrixBlocks.flip(MatrixBlocks.flip(a)),
                    MatrixBlocks.transpose(MatrixBlocks.transpose(a)),
                    a.cache())) {
              Dataset<Row> both = MatrixBlocks.slice(MatrixBlocks.add(other, a), text);
              assertSlice(array, text, MatrixBlocks.scale(both, 0.5));
              assertSlice(
                  array,
                  text,
                  MatrixBlocks.scale(MatrixBlocks.slice(MatrixBlocks.add(a, other), text), 0.5));
            }
            spark.catalog().clearCache();
          });
    }
  }

  @Test
  void cachedFramesParquetAndUnions(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 40, 30, 7, 8);
    Dataset<Row> df = array.toDataFrame(spark, 3).drop("tag");
    String text = "33:5:-4, 3:22";
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> cached = df.cache();
            assertSlice(array, text, MatrixBlocks.slice(cached, text));
            cached.unpersist(true);
            String path = dir.resolve("a.parquet").toString();
            df.write().mode("overwrite").parquet(path);
            assertSlice(array, text, MatrixBlocks.slice(spark.read().parquet(path), text));
            Dataset<Row> stated = MatrixBlocks.withExtents(df, 40, 30);
            Dataset<Row> union = stated.where("row < 14").union(stated.where("row >= 14"));
            assertSlice(array, text, MatrixBlocks.slice(union, text));
            assertSlice(
                array,
                "2:9",
                MatrixBlocks.slice(df.repartition(2).sortWithinPartitions("row"), "2:9"));
          });
    }
  }

  @Test
  void furtherColumnsAreCarried() {
    TestArray array = TestArray.matrix(ElementType.INT16, 10, 10, 4, 3);
    Dataset<Row> df = array.toDataFrame(spark, 2);
    Dataset<Row> sliced = MatrixBlocks.slice(MatrixBlocks.withExtents(df, 10, 10), "::2, 3:6");
    assertSlice(array, "::2, 3:6", sliced);
    assertEquals(
        List.of("block [0, 3]", "block [4, 3]"),
        sliced
            .where("tag IS NOT NULL")
            .orderBy("row")
            .select("tag")
            .as(Encoders.STRING())
            .collectAsList());
  }

  @Test
  void severalArraysAreSlicedAlike() {
    TestArray small = TestArray.matrix(ElementType.INT64, 12, 9, 5, 4);
    Dataset<Row> one = small.toDataFrame(spark, 2).drop("tag");
    Dataset<Row> both =
        one.withColumn("sample", functions.lit(1))
            .union(one.withColumn("sample", functions.lit(2)));
    Dataset<Row> sliced = MatrixBlocks.slice(both, "4:, ::3");
    assertSlice(small, "4:, ::3", sliced.where("sample = 1"));
    assertSlice(small, "4:, ::3", sliced.where("sample = 2"));
    TestArray large = TestArray.matrix(ElementType.INT64, 13, 9, 5, 4);
    Dataset<Row> different =
        one.withColumn("sample", functions.lit(1))
            .union(large.toDataFrame(spark, 1).drop("tag").withColumn("sample", functions.lit(2)));
    assertTrue(reasonOf(() -> MatrixBlocks.slice(different, "4:")).contains("different extents"));
  }

  /** A column that cannot distinguish arrays is carried: blocks are sliced one by one. */
  @Test
  void furtherColumnsOfAnyTypeAreCarried() {
    TestArray array = TestArray.matrix(ElementType.INT64, 12, 9, 5, 4);
    Dataset<Row> one =
        MatrixBlocks.withExtents(array.toDataFrame(spark, 2).drop("tag"), 12, 9)
            .withColumn("origin", functions.expr("map('row', row)"));
    Dataset<Row> sliced = MatrixBlocks.slice(one, "4:, :");
    assertSlice(array, "4:, :", sliced.drop("origin"));
    assertEquals(0, sliced.where("origin['row'] > row + 4").count());
  }

  // ---- what is known, and what is refused

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          16:, :         | 16,10
          ::2            | 8,10
          5:9, 33:38     | 4,5
          3:             |
          ::-1           |
          -2::-1, ::-1   | 16,10
          1, ::25        | 1,1
          """)
  void knownShapesOfBlocks(String text, String expected, @TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 65, 60, 16, 10);
    Dataset<Row> sliced = MatrixBlocks.slice(npy(array, dir), text);
    assertEquals(
        expected == null ? "" : expected,
        metadata(sliced).blockShape(2).map(Shape::text).orElse(""));
    assertSlice(array, text, sliced);
  }

  @Test
  void aSliceOfASpectrumIsNone() {
    TestArray array = TestArray.volume(ElementType.FLOAT64, 4, 6, 8, 4, 6, 8);
    Dataset<Row> spectrum = VolumeBlocks.fft(array.toDataFrame(spark, 1).drop("tag"));
    assertTrue(metadata(spectrum).spectrum().isPresent());
    for (String all : List.of("...", ":6", "0:99, :, ::1")) {
      Dataset<Row> slice = VolumeBlocks.slice(spectrum, all);
      assertTrue(metadata(slice).spectrum().isEmpty(), all);
      assertEquals(metadata(spectrum).extents(3), metadata(slice).extents(3));
      assertEquals(spectrum.collectAsList(), slice.collectAsList());
    }
    assertTrue(metadata(VolumeBlocks.withOrigin(spectrum)).spectrum().isEmpty());
    Dataset<Row> low = VolumeBlocks.slice(spectrum, "0:2, 0:2, 0:2");
    assertTrue(metadata(low).spectrum().isEmpty());
    assertEquals(1, low.collectAsList().size());
  }

  @Test
  void nothingLeftAndBadTexts() {
    Dataset<Row> df =
        TestArray.matrix(ElementType.FLOAT32, 8, 6, 4, 4).toDataFrame(spark, 1).drop("tag");
    assertTrue(
        reasonOf(() -> MatrixBlocks.slice(df, "3:3"))
            .contains("'3:3' along row holds none of 8 elements; the extents are (8, 6)"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.slice(df, "0, 6"))
            .contains("index 6 along col is outside the matrix, whose extents are (8, 6)"));
    assertTrue(reasonOf(() -> MatrixBlocks.slice(df, "1,2,3")).contains("3 entries"));
    assertTrue(
        reasonOf(() -> MatrixBlocks.slice(df.where("row > 99"), ":"))
            .contains("extents are (0, 0)"));
    Dataset<Row> stale = MatrixBlocks.withExtents(df, 7, 6);
    assertFails(
        () -> MatrixBlocks.slice(stale, "::2").collectAsList(), "it ends at row 8", "says [7, 6]");
  }
}
