package org.tilespark.spark.reshape;

import static org.apache.spark.sql.functions.lit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.Box;
import org.tilespark.layout.Edge;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.DenseArray;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Padded and rolled arrays, against numpy's definitions element by element. */
class PadTest extends SparkTest {
  private static final List<Edge> MODES =
      List.of(Edge.CONSTANT, Edge.EDGE, Edge.REFLECT, Edge.SYMMETRIC, Edge.WRAP);

  /** The output of numpy.pad and numpy.roll for {@code [[1, 2, 3], [4, 5, 6]]}. */
  @Test
  void asNumpyPrintsThem() {
    Dataset<Row> df =
        spark.sql(
            "SELECT 0L AS row, 0L AS col, 2 AS rows, 3 AS cols, array(1, 2, 3, 4, 5, 6) AS values");
    assertEquals(
        "[3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2]",
        printed(MatrixBlocks.pad(df, "0,1; 2,1", "reflect"), 3, 6));
    assertEquals(
        "[1, 1, 2, 3, 3, 4, 4, 5, 6, 6, 1, 1, 2, 3, 3]",
        printed(
            MatrixBlocks.pad(MatrixBlocks.pad(df, "0,1; 0", "wrap"), "0; 1", "symmetric"), 3, 5));
    assertEquals("[6, 4, 5, 3, 1, 2]", printed(MatrixBlocks.roll(df, "-1,4"), 2, 3));
  }

  private static String printed(Dataset<Row> df, long rows, long cols) {
    return Arrays.toString(DenseArray.of(df, rows, cols).values());
  }

  @ParameterizedTest
  @EnumSource
  void everyTypeRealAndComplex(ElementType type) {
    for (Edge mode : MODES) {
      if (Sampling.skips(type.ordinal() + mode.ordinal(), 3)) {
        continue;
      }
      TestArray real = TestArray.matrix(type, 11, 7, 4, 3);
      assertPadded(plain(real), real, List.of(3L, 0L, 9L, 8L), mode);
      TestArray complex = TestArray.volume(type, 3, 5, 4, 2, 5, 3).withImag();
      assertPadded(plain(complex), complex, List.of(1L, 2L, 0L, 7L, 5L, 0L), mode);
      assertRolled(plain(complex), complex, 4, -2, 9);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void randomTilingsAndWidths(long seed) {
    Random random = new Random(seed);
    ElementType type = ElementType.values()[(int) (seed % ElementType.values().length)];
    List<Map<String, String>> modes = executionModes();
    TestArray array =
        seed % 2 == 0
            ? TestArray.matrix(type, 1 + random.nextInt(30), 1 + random.nextInt(30), 1, 1)
            : TestArray.volume(
                type, 1 + random.nextInt(9), 1 + random.nextInt(9), 1 + random.nextInt(9), 1, 1, 1);
    with(
        modes.get(random.nextInt(modes.size())),
        () -> {
          Dataset<Row> df = array.toDataFrame(spark, 3, array.randomTiling(random));
          List<Long> widths = new ArrayList<>();
          for (int i = 0; i < 2 * array.kind().rank(); i++) {
            widths.add((long) random.nextInt(random.nextInt(3) == 0 ? 20 : 4));
          }
          assertPadded(df, array, widths, MODES.get(random.nextInt(MODES.size())));
          long[] by = new long[array.kind().rank()];
          Arrays.setAll(by, axis -> random.nextInt(60) - 30);
          assertRolled(df, array, by);
        });
  }

  @Test
  void everyModeOfExecution() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 23, 29, 6, 7);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            for (Edge edge : MODES) {
              assertPadded(plain(array), array, List.of(2L, 3L, 8L, 1L), edge);
            }
            assertRolled(plain(array), array, 5, -30);
          });
    }
  }

  /** NaN, infinities and negative zero, around and inside. */
  @Test
  void numbersThatAreNoNumbers() {
    List<Double> values = List.of(Double.NaN, -0.0, Double.POSITIVE_INFINITY, 1.0);
    Dataset<Row> df =
        spark.createDataFrame(
            List.of(RowFactory.create(0L, 0L, 1, 4, values)),
            TestArray.matrix(ElementType.FLOAT64, 1, 1, 1, 1).schema());
    assertEquals(
        "[1.0, Infinity, -0.0, NaN, -0.0, Infinity, 1.0]",
        printed(MatrixBlocks.pad(df, "0; 3,0", "reflect"), 1, 7));
    assertEquals(
        "[-0.0, NaN, -0.0, Infinity, 1.0]",
        printed(MatrixBlocks.pad(df, "0; 1,0", "constant", -0.0), 1, 5));
    assertEquals(
        "[NaN, -0.0, Infinity, 1.0, NaN]",
        printed(MatrixBlocks.pad(df, "0; 0,1", "constant", Double.NaN), 1, 5));
  }

  @Test
  void furtherColumnsTellArraysApart() {
    TestArray array = TestArray.matrix(ElementType.INT32, 9, 14, 4, 5);
    for (boolean isStated : new boolean[] {false, true}) {
      Dataset<Row> one = plain(array);
      Dataset<Row> df = isStated ? MatrixBlocks.withExtents(one, 9, 14) : one;
      Dataset<Row> both =
          df.withColumn("sample", lit("a"))
              .union(df.withColumn("sample", lit(null).cast("string")));
      for (String which : List.of("sample = 'a'", "sample IS NULL")) {
        Dataset<Row> padded = MatrixBlocks.pad(both, "5; 1,2", "edge");
        expectedPad(array, List.of(5L, 5L, 1L, 2L), Edge.EDGE)
            .assertSame(DenseArray.of(padded.where(which), 19, 17), which);
        Dataset<Row> constant = MatrixBlocks.pad(both, "20; 0", "constant", 7);
        expectedPad(array, List.of(20L, 20L, 0L, 0L), Edge.CONSTANT)
            .assertSame(DenseArray.of(constant.where(which), 49, 14), which);
      }
    }
    TestArray other = TestArray.matrix(ElementType.INT32, 9, 13, 4, 5);
    Dataset<Row> mixed =
        plain(array).withColumn("sample", lit(1)).union(plain(other).withColumn("sample", lit(2)));
    assertFails(
        () -> MatrixBlocks.pad(mixed, "1"),
        "MatrixBlocks.pad: the arrays that further columns tell apart have different extents",
        "expected one size (take them apart, or state the extents)");
  }

  @Test
  void blocksAreLikeThoseOfTheInput() {
    TestArray array = TestArray.volume(ElementType.FLOAT64, 8, 6, 5, 3, 6, 5);
    Dataset<Row> df = VolumeBlocks.reblock(plain(array), 3, 6, 5);
    Dataset<Row> padded = VolumeBlocks.pad(df, "1; 2; 0,3");
    ArrayMetadata known = ArrayMetadata.of(padded.schema().apply("values").metadata());
    assertEquals("10,10,8", known.extents(3).orElseThrow().text());
    // Slabs stay slabs.
    assertEquals("3,10,8", known.blockShape(3).orElseThrow().text());
    assertEquals(4, padded.count());
    assertEquals(
        "[0, 3, 6, 9]",
        padded.orderBy("x").select("x").collectAsList().stream()
            .map(row -> row.getLong(0))
            .toList()
            .toString());
  }

  @Test
  void oneExchangeAndNoneIfNothingMoves() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 20, 30, 8, 8);
    Dataset<Row> df = MatrixBlocks.reblock(plain(array), 8, 8).cache();
    for (Dataset<Row> moved :
        List.of(MatrixBlocks.pad(df, "1", "wrap"), MatrixBlocks.roll(df, "1, 0"))) {
      moved.collectAsList();
      List<ShuffleExchangeExec> shuffles = PlanNodes.all(plan(moved), ShuffleExchangeExec.class);
      assertEquals(1, shuffles.size(), explained(moved));
      assertTrue(explained(moved).contains("wrap"), explained(moved));
    }
    for (Dataset<Row> same :
        List.of(MatrixBlocks.pad(df, "0", "wrap"), MatrixBlocks.roll(df, "40,-60"))) {
      assertEquals(List.of(), PlanNodes.cutting(plan(same).executedPlan()), explained(same));
      expectedRoll(array, 0, 0).assertSame(DenseArray.of(same, 20, 30), "unchanged");
    }
    df.unpersist();
  }

  /** Rolled back it is the same array, wherever blocks are computed. */
  @ParameterizedTest
  @CsvSource({"wrap, true", "constant, true", "reflect, false", "symmetric, false"})
  void resultsOfAStageAreCutByIt(String mode, boolean isByStage) {
    TestArray array = TestArray.volume(ElementType.FLOAT64, 6, 5, 4, 2, 5, 4);
    Dataset<Row> blurred =
        VolumeBlocks.ifft(
            VolumeBlocks.fft(plain(array), FftOptions.defaults().withReal(true)),
            FftOptions.defaults().withReal(true));
    Dataset<Row> there = VolumeBlocks.pad(blurred.drop("tag"), "2; 0,3; 4", mode);
    DenseArray expected =
        expectedPad(
            DenseArray.of(blurred.drop("tag"), 6, 5, 4),
            List.of(2L, 2L, 0L, 3L, 4L, 4L),
            Edge.parse("mode", mode, Edge.values()),
            0.0);
    expected.assertSame(DenseArray.of(there, 10, 8, 12), mode);
    boolean isCut =
        PlanNodes.computing(plan(there).executedPlan()).stream()
            .anyMatch(stage -> stage.toString().contains(mode));
    assertEquals(isByStage, isCut, explained(there));
  }

  @Test
  void badInput() {
    TestArray array = TestArray.matrix(ElementType.INT8, 4, 6, 2, 3);
    Dataset<Row> df = plain(array);
    assertFails(
        () -> MatrixBlocks.pad(df, "1,2,3"),
        "widths is '1,2,3'; expected numbers of elements, 0 or more: '2' on all sides, or before"
            + " and after each of 2 axes, as '2,3; 2,3'");
    assertFails(() -> MatrixBlocks.pad(df, "1; -2"), "widths is '1; -2'");
    assertFails(() -> MatrixBlocks.pad(df, "1; 2; 3"), "each of 2 axes");
    assertFails(
        () -> MatrixBlocks.pad(df, "1", "mean"),
        "mode is 'mean'; expected constant, edge, reflect, symmetric, wrap");
    assertFails(
        () -> MatrixBlocks.pad(df, "1", "constant", 128),
        "value is 128.0, the array's elements are",
        "expected a number that they can be");
    assertFails(
        () -> MatrixBlocks.roll(df, "1,2,3"),
        "shift is '1,2,3'; expected a whole number for each of row, col");
    assertFails(() -> MatrixBlocks.roll(df, "1,x"), "shift is '1,x'");
    assertFails(() -> MatrixBlocks.pad(df, "1", "constant", 0.5), "value is 0.5");
    assertFails(() -> MatrixBlocks.pad(df, "1", "constant", Double.NaN), "value is NaN");
  }

  @Test
  void truthValuesArePaddedWithTruthValues() {
    Dataset<Row> truth =
        MatrixBlocks.map(
            spark.sql("SELECT 0L AS row, 0L AS col, 1 AS rows, 2 AS cols, array(1, 5) AS values"),
            "v > 2");
    assertFails(
        () -> MatrixBlocks.pad(truth, "0; 1", "constant", 2),
        "value is 2.0, the array's elements are truth values; expected 0 or 1");
    assertEquals("[1, 0, 1, 1]", printed(MatrixBlocks.pad(truth, "0; 1", "constant", 1), 1, 4));
    Dataset<Row> numbers = MatrixBlocks.map(truth, "CAST(v AS TINYINT)");
    assertEquals("[2, 0, 1, 2]", printed(MatrixBlocks.pad(numbers, "0; 1", "constant", 2), 1, 4));
  }

  @Test
  void holesAndOverlapsAreRefused() {
    TestArray array = TestArray.matrix(ElementType.INT32, 20, 30, 4, 6);
    Dataset<Row> stated = MatrixBlocks.withExtents(plain(array), 20, 30);
    Dataset<Row> hole = stated.where("NOT (row = 8 AND col = 12)");
    Dataset<Row> doubled = stated.union(stated.where("row = 8 AND col = 12"));
    for (Edge mode : MODES) {
      assertFails(
          () -> MatrixBlocks.pad(hole, "1,3; 2", mode.toString()).collectAsList(),
          "no block of the input holds the ");
      assertFails(
          () -> MatrixBlocks.pad(doubled, "1,3; 2", mode.toString()).collectAsList(),
          "two blocks of the input hold the element there");
    }
    assertFails(
        () -> MatrixBlocks.roll(hole, "1,3").collectAsList(), "no block of the input holds the ");
    assertFails(
        () ->
            MatrixBlocks.roll(MatrixBlocks.withExtents(plain(array), 20, 29), "1,3")
                .collectAsList(),
        "it ends at col 30, the column metadata tilespark.extents says [20, 29]");
  }

  private static void assertPadded(Dataset<Row> df, TestArray array, List<Long> widths, Edge mode) {
    List<String> pairs = new ArrayList<>();
    long[] target = array.extents().toArray();
    for (int axis = 0; axis < target.length; axis++) {
      pairs.add(widths.get(2 * axis) + "," + widths.get(2 * axis + 1));
      target[axis] += widths.get(2 * axis) + widths.get(2 * axis + 1);
    }
    String text = String.join("; ", pairs);
    Dataset<Row> padded =
        array.kind() == BlockKind.MATRIX
            ? MatrixBlocks.pad(df, text, mode.toString(), 7)
            : VolumeBlocks.pad(df, text, mode.toString(), 7);
    expectedPad(array, widths, mode)
        .assertSame(DenseArray.of(padded, target), array + " padded by " + text + " " + mode);
  }

  private static void assertRolled(Dataset<Row> df, TestArray array, long... by) {
    String text = Arrays.stream(by).mapToObj(Long::toString).collect(Collectors.joining(","));
    Dataset<Row> rolled =
        array.kind() == BlockKind.MATRIX
            ? MatrixBlocks.roll(df, text)
            : VolumeBlocks.roll(df, text);
    expectedRoll(array, by)
        .assertSame(
            DenseArray.of(rolled, array.extents().toArray()),
            array + " rolled by " + Arrays.toString(by));
  }

  private static DenseArray expectedRoll(TestArray array, long... by) {
    DenseArray dense = dense(array);
    long[] extents = dense.extents();
    return dense.gathered(
        extents,
        index -> {
          long[] at = DenseArray.unravel(index, extents);
          for (int axis = 0; axis < at.length; axis++) {
            at[axis] = Math.floorMod(at[axis] - by[axis], extents[axis]);
          }
          return at;
        },
        0);
  }

  private static DenseArray expectedPad(TestArray array, List<Long> widths, Edge mode) {
    Object seven =
        switch (array.type()) {
          case INT8 -> (byte) 7;
          case INT16 -> (short) 7;
          case INT32 -> 7;
          case INT64 -> 7L;
          case FLOAT32 -> 7f;
          case FLOAT64 -> 7.0;
        };
    return expectedPad(dense(array), widths, mode, seven);
  }

  private static DenseArray expectedPad(
      DenseArray dense, List<Long> widths, Edge mode, Object fill) {
    long[] target = dense.extents().clone();
    for (int axis = 0; axis < target.length; axis++) {
      target[axis] += widths.get(2 * axis) + widths.get(2 * axis + 1);
    }
    return dense.gathered(
        target,
        index -> {
          long[] at = DenseArray.unravel(index, target);
          for (int axis = 0; axis < at.length; axis++) {
            at[axis] = source(mode, dense.extents()[axis], at[axis] - widths.get(2 * axis));
            if (at[axis] < 0) {
              return null;
            }
          }
          return at;
        },
        fill);
  }

  /** Walks from the edge inwards and back, as numpy's documentation draws the modes. */
  private static long source(Edge mode, long extent, long place) {
    long at = place;
    while (at < 0 || at >= extent) {
      long beyond = at < 0 ? -at : at - extent + 1; // 1 for the first element outside
      switch (mode) {
        case EDGE -> at = at < 0 ? 0 : extent - 1;
        case WRAP -> at += at < 0 ? extent : -extent;
        case SYMMETRIC -> at = at < 0 ? beyond - 1 : extent - beyond;
        case REFLECT -> at = extent == 1 ? 0 : at < 0 ? beyond : extent - 1 - beyond;
        default -> {
          return -1;
        }
      }
    }
    return at;
  }

  private static DenseArray dense(TestArray array) {
    return DenseArray.of(
        array.toDataFrame(
            spark,
            1,
            Collections.singletonList(
                Box.at(new long[array.kind().rank()], array.extents().toArray()))),
        array.extents().toArray());
  }

  private static Dataset<Row> plain(TestArray array) {
    return array.toDataFrame(spark, 3).drop("tag");
  }
}
