package org.tilespark.spark.reblock;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Re-blocking gives the same array in other blocks, from any tiling, in every mode. */
class ReblockTest extends SparkTest {
  private static final Permutation SAME = Permutation.identity(2);

  @ParameterizedTest
  @EnumSource
  void everyTypeRealAndComplex(ElementType type) {
    TestArray array = TestArray.matrix(type, 37, 53, 16, 10);
    assertReblocked(array, MatrixBlocks.reblock(plain(array), 7, 5), 7, 5);
    TestArray complex = array.withImag();
    assertReblocked(complex, MatrixBlocks.reblock(plain(complex), 11, 53), 11, 53);
  }

  @Test
  void fromAnyTilingToAnyOther() {
    int[][] tilings = {{31, 47}, {1, 47}, {31, 1}, {7, 5}, {16, 16}, {10, 48}};
    int round = 0;
    for (int[] from : tilings) {
      TestArray array = TestArray.matrix(ElementType.INT64, 31, 47, from[0], from[1]);
      for (int[] to : tilings) {
        Dataset<Row> df = plain(array);
        Dataset<Row> input =
            switch (round++ % 3) {
              case 0 -> df;
              case 1 -> MatrixBlocks.withExtents(df, 31, 47);
              default -> stated(df, "31,47", from[0] + "," + from[1]);
            };
        assertReblocked(array, MatrixBlocks.reblock(input, to[0], to[1]), to[0], to[1]);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void randomTilings(long seed) {
    Random random = new Random(seed);
    ElementType type = ElementType.values()[(int) (seed % ElementType.values().length)];
    TestArray array = TestArray.matrix(type, 1 + random.nextInt(70), 1 + random.nextInt(70), 1, 1);
    List<Box> boxes = array.randomTiling(random);
    int rows = 1 + random.nextInt(30);
    int cols = 1 + random.nextInt(30);
    List<Map<String, String>> modes = executionModes();
    with(
        modes.get(random.nextInt(modes.size())),
        () ->
            assertReblocked(
                array,
                MatrixBlocks.reblock(array.toDataFrame(spark, 3, boxes), rows, cols),
                rows,
                cols));
  }

  @Test
  void everyModeOfExecution() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 23, 29, 6, 7);
    Dataset<Row> df = MatrixBlocks.withExtents(plain(array), 23, 29);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> other = MatrixBlocks.reblock(df, 5, 9);
            assertReblocked(array, other, 5, 9);
            // All partitions together, each block alone, and one after the other.
            for (String partitions : List.of("1", "50")) {
              with(
                  Map.of("spark.sql.shuffle.partitions", partitions),
                  () -> assertReblocked(array, MatrixBlocks.reblock(df, 5, 9), 5, 9));
            }
            assertEquals(
                20,
                other
                    .as("a")
                    .join(
                        other.as("b"),
                        col("a.row").equalTo(col("b.row")).and(col("a.col").equalTo(col("b.col"))))
                    .where(col("a.values").equalTo(col("b.values")))
                    .count(),
                "a self-join");
            assertEquals(3, other.limit(3).collectAsList().size());
          });
    }
  }

  @Test
  void volumes() {
    TestArray array = TestArray.volume(ElementType.INT32, 11, 13, 7, 4, 5, 3).withImag();
    for (long[] shape : new long[][] {{11, 13, 1}, {2, 3, 7}, {1, 13, 7}, {5, 4, 3}}) {
      for (boolean stated : new boolean[] {false, true}) {
        Dataset<Row> df = plain(array);
        Dataset<Row> input = stated ? VolumeBlocks.withExtents(df, 11, 13, 7) : df;
        Dataset<Row> other =
            mapped(
                input,
                plan ->
                    ReblockPlans.reblock(
                        plan, BlockKind.VOLUME, shape, Missing.ERROR, "volume_reblock"));
        new TestArray(array.kind(), array.type(), array.extents(), Shape.of(shape), true)
            .assertPermuted(
                Permutation.identity(3), other.withColumn("tag", lit(null).cast("string")));
      }
    }
  }

  /** Bits of NaNs, infinities and negative zeros stay as they are. */
  @Test
  void rawBits() {
    int rows = 9;
    int cols = 14;
    List<Row> blocks = new ArrayList<>();
    int[] special = {0x7fc00001, 0x7f800000, 0xff800000, 0x80000000, 0xffc12345, 1, 0x7fffffff};
    for (int row = 0; row < rows; row += 3) {
      for (int col = 0; col < cols; col += 7) {
        List<Float> values = new ArrayList<>();
        for (int i = 0; i < 21; i++) {
          values.add(Float.intBitsToFloat(bits(special, (row + i / 7) * cols + col + i % 7)));
        }
        blocks.add(RowFactory.create((long) row, (long) col, 3, 7, values));
      }
    }
    Dataset<Row> df =
        spark.createDataFrame(blocks, TestArray.matrix(ElementType.FLOAT32, 1, 1, 1, 1).schema());
    int seen = 0;
    for (Row row : MatrixBlocks.reblock(df, 4, 5).collectAsList()) {
      List<Float> values = row.getList(4);
      int width = row.getInt(3);
      for (int i = 0; i < values.size(); i++) {
        long index = (row.getLong(0) + i / width) * cols + row.getLong(1) + i % width;
        assertEquals(bits(special, (int) index), Float.floatToRawIntBits(values.get(i)));
        seen++;
      }
    }
    assertEquals(rows * cols, seen);
  }

  private static int bits(int[] special, int index) {
    return index % 3 == 0 ? special[index % special.length] : Float.floatToRawIntBits(index);
  }

  @Test
  void furtherColumnsTellArraysApart() {
    TestArray a = TestArray.matrix(ElementType.FLOAT64, 20, 14, 6, 7);
    TestArray b = TestArray.matrix(ElementType.FLOAT64, 9, 31, 4, 10);
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> both =
                plain(a)
                    .withColumn("sample", lit("a"))
                    .unionByName(plain(b).withColumn("sample", lit(null).cast("string")));
            Dataset<Row> other = MatrixBlocks.reblock(both, 5, 8);
            assertReblocked(a, other.where("sample = 'a'").drop("sample"), 5, 8);
            assertReblocked(b, other.where("sample IS NULL").drop("sample"), 5, 8);
          });
    }
    // Of the same extents, stated once, keyed by several columns.
    Dataset<Row> twice =
        MatrixBlocks.withExtents(
            plain(a).crossJoin(spark.range(3).selectExpr("id", "named_struct('n', id % 2) AS s")),
            20,
            14);
    Dataset<Row> other = MatrixBlocks.reblock(twice, 7, 4);
    assertEquals(3 * 12, other.count());
    for (int id = 0; id < 3; id++) {
      assertReblocked(a, other.where("id = " + id + " AND s.n = id % 2").drop("id", "s"), 7, 4);
    }
    assertFails(
        () -> MatrixBlocks.reblock(twice.withColumn("m", functions.map(lit(1), lit(2))), 7, 4),
        "column m is MAP<INT, INT>, which has no order");
  }

  @Test
  void batchesAreCutWhereTheyLie(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 40, 33, 9, 8);
    String npy = dir.resolve("m.npy").toString();
    plain(array).write().format("npy").save(npy);
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "9,8").load(npy);
    Dataset<Row> other = MatrixBlocks.reblock(read, 16, 5);
    assertReblocked(array, other, 16, 5);
    assertCutsBatches(other);
    Dataset<Row> transposed = MatrixBlocks.reblock(MatrixBlocks.transpose(read), 5, 16);
    assertReblocked(array, MatrixBlocks.transpose(transposed), 16, 5);
    String parquet = dir.resolve("m.parquet").toString();
    plain(array).write().parquet(parquet);
    Dataset<Row> columns = MatrixBlocks.reblock(spark.read().parquet(parquet), 16, 5);
    assertReblocked(array, columns, 16, 5);
    assertCutsBatches(columns);
    // And into a file again.
    String out = dir.resolve("out.npy").toString();
    other.write().format("npy").save(out);
    assertReblocked(
        array, spark.read().format("npy").option("blockShape", "40,3").load(out), 40, 3);
  }

  @Test
  void missingBlocks() {
    TestArray array = TestArray.matrix(ElementType.INT32, 20, 30, 4, 6);
    for (boolean grouped : new boolean[] {false, true}) {
      Dataset<Row> stated = MatrixBlocks.withExtents(plain(array), 20, 30);
      Dataset<Row> whole = grouped ? stated.withColumn("sample", lit(1)) : stated;
      Dataset<Row> one = whole.where("NOT (row = 8 AND col = 12)");
      assertFails(
          () -> MatrixBlocks.reblock(one, 10, 10).collectAsList(),
          "block at row 8, col 12: no block of the input holds the ",
          "missing=zero",
          "MatrixBlocks.reblock");
      // Target blocks of which nothing at all is there are missed too.
      Dataset<Row> corner = whole.where("row < 8 OR col < 6");
      assertFails(
          () -> MatrixBlocks.reblock(corner, 2, 2).collectAsList(), "no block of the input holds");
      Dataset<Row> zeros = MatrixBlocks.reblock(corner, 2, 2, Missing.ZERO);
      assertEquals(150, zeros.count());
      for (Row row : zeros.collectAsList()) {
        List<Integer> values = row.getList(4);
        for (int i = 0; i < values.size(); i++) {
          long r = row.getLong(0) + i / row.getInt(3);
          long c = row.getLong(1) + i % row.getInt(3);
          assertEquals(r < 8 || c < 6 ? r * 30 + c : 0, (long) values.get(i));
        }
      }
      if (!grouped) {
        Dataset<Row> none = MatrixBlocks.withExtents(whole.where("row < 0"), 20, 30);
        assertEquals(
            0L,
            MatrixBlocks.reblock(none, 20, 3, Missing.ZERO)
                .selectExpr("sum(aggregate(values, 0L, (s, v) -> s + abs(v)))")
                .first()
                .getLong(0));
        assertFails(() -> MatrixBlocks.reblock(none, 5, 5).count(), "no block of the input");
        assertEquals(0, MatrixBlocks.reblock(plain(array).where("row < 0"), 5, 5).count());
      }
    }
  }

  @Test
  void badInput() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 8, 12, 4, 6);
    Dataset<Row> doubled =
        plain(array)
            .union(
                array.toDataFrame(spark, 1, List.of(Box.at(new long[] {3, 5}, new long[] {2, 2}))));
    for (Missing missing : Missing.values()) {
      for (Dataset<Row> df : List.of(doubled, MatrixBlocks.withExtents(doubled, 8, 12))) {
        assertFails(
            () -> MatrixBlocks.reblock(df, 8, 3, missing).collectAsList(),
            "two blocks of the input hold the element there",
            "expected each element in one block");
      }
    }
    assertFails(
        () ->
            MatrixBlocks.reblock(MatrixBlocks.withExtents(plain(array), 8, 10), 3, 3)
                .collectAsList(),
        "it ends at col 12, the column metadata tilespark.extents says [8, 10]");
    assertFails(
        () -> MatrixBlocks.reblock(plain(array).withColumn("rows", lit(3)), 3, 3).collectAsList(),
        "values has 24 elements; expected rows x cols = 3 x 6 = 18",
        "MatrixBlocks.reblock");
    assertFails(
        () ->
            MatrixBlocks.reblock(plain(array).withColumn("col", lit(null).cast("bigint")), 3, 3)
                .collectAsList(),
        "a matrix block has a null col");
    assertFails(
        () ->
            MatrixBlocks.reblock(plain(array).withColumn("col", lit(Long.MAX_VALUE)), 3, 3)
                .collectAsList(),
        "the block would end beyond 2^63 - 1");
    assertFails(
        () ->
            MatrixBlocks.reblock(plain(array).withColumn("col", lit(Long.MAX_VALUE / 2)), 3, 3)
                .collectAsList());
    assertFails(() -> MatrixBlocks.reblock(plain(array), 0, 3), "expected 1 to 2^31 - 1");
    assertFails(
        () ->
            MatrixBlocks.reblock(
                MatrixBlocks.withExtents(plain(array), 1L << 20, 1L << 20), 1 << 16, 1 << 16),
        "a block must stay below 2 GiB");
  }

  @Test
  void nothingIsShuffledWhereTheBlocksLieRight() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 17, 23, 5, 6);
    Dataset<Row> df = localRows(stated(plain(array), "17,23", "5,6"));
    Dataset<Row> same = MatrixBlocks.reblock(df, 5, 6);
    assertFalse(optimized(same).contains("CutBlocks"), optimized(same));
    assertReblocked(array, same, 5, 6);
    // A re-blocked frame is partitioned right from then on.
    Dataset<Row> other = MatrixBlocks.reblock(df, 4, 23);
    assertFalse(explained(MatrixBlocks.reblock(other, 4, 50)).contains("4 x 50"));
    assertReblocked(array, MatrixBlocks.reblock(other, 4, 50), 4, 23);
    assertEquals(
        1,
        shuffles(MatrixBlocks.reblock(other, 4, 50)).stream()
            .filter(shuffle -> shuffle.schema().getFieldIndex("values").isDefined())
            .count());
    // A union says nothing that only one of its frames says. Stale metadata is noticed.
    TestArray wide = TestArray.matrix(ElementType.FLOAT32, 17, 23, 5, 3);
    Dataset<Row> union = df.where("row < 5").union(plain(wide).where("row >= 5"));
    assertReblocked(array, MatrixBlocks.reblock(union, 5, 6), 5, 6);
    Dataset<Row> stale = saying(union, df);
    assertFails(
        () -> MatrixBlocks.reblock(stale, 5, 6).collectAsList(),
        "it has the sizes [5, 3]; the column metadata says blocks of (5, 6)",
        "withoutExtents(df)");
    assertReblocked(array, MatrixBlocks.reblock(MatrixBlocks.withoutExtents(stale), 5, 6), 5, 6);
    // Zeros have to be made even so.
    assertEquals(16, MatrixBlocks.reblock(df.where("row <> 5"), 5, 6, Missing.ZERO).count());
  }

  /** Only places are read for that, and where they are cheap to read. */
  @Test
  void blocksThatLieRightAreCheckedForHolesAndOverlaps(@TempDir Path dir) {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 17, 23, 5, 6);
    String file = dir.resolve("m.npy").toString();
    MatrixBlocks.withExtents(plain(array), 17, 23).write().format("npy").save(file);
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "5,6").load(file);
    assertReblocked(array, MatrixBlocks.reblock(read, 5, 6), 5, 6);
    for (boolean grouped : new boolean[] {false, true}) {
      Dataset<Row> whole = grouped ? read.withColumn("sample", lit(1)) : read;
      for (Map<String, String> mode : sampledModes()) {
        with(
            mode,
            () -> {
              assertFails(
                  () -> MatrixBlocks.reblock(whole.where("row <> 5"), 5, 6).collectAsList(),
                  "no block at row 5, col 0",
                  "MatrixBlocks.reblock");
              assertFails(
                  () -> MatrixBlocks.reblock(whole.union(whole), 5, 6).collectAsList(),
                  "block at row 0, col 0",
                  "overlap");
            });
      }
    }
    // Places of what was re-blocked before are known without its values.
    for (Dataset<Row> df : List.of(plain(array), plain(array).withColumn("sample", lit(1)))) {
      Dataset<Row> made = MatrixBlocks.reblock(MatrixBlocks.withExtents(df, 17, 23), 4, 23);
      Dataset<Row> dropped = MatrixBlocks.reblock(made.where("row <> 8"), 4, 23);
      assertFails(dropped::collectAsList, "no block at row 8, col 0");
      assertFails(() -> MatrixBlocks.reblock(made.union(made), 4, 23).collectAsList(), "overlap");
      assertEquals(1, optimized(dropped).split("CutBlocks", -1).length - 1, optimized(dropped));
    }
    assertFails(
        () -> MatrixBlocks.reblock(read.where("row < 0"), 5, 6).count(), "no block at row 0");
    assertFails(() -> MatrixBlocks.reblock(read.where("false"), 5, 6).count(), "no block at row 0");
    assertEquals(
        0, MatrixBlocks.reblock(read.where("false").withColumn("sample", lit(1)), 5, 6).count());
    // A condition above the re-block is no hole, and reaches the file.
    Dataset<Row> part = MatrixBlocks.reblock(read, 5, 6).where("row = 5");
    assertEquals(4, part.collectAsList().size());
    assertTrue(explained(part).contains("row = 5"), explained(part));
  }

  /** The join takes the block away that is not on the grid. */
  @Test
  void placesAreNotCheckedBelowAJoin() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 8, 12, 4, 6);
    Dataset<Row> plain = plain(array);
    Dataset<Row> bad =
        array.toDataFrame(spark, 1, List.of(Box.at(new long[] {1, 5}, new long[] {2, 2})));
    Dataset<Row> df = stated(plain.union(bad), "8,12", "4,6");
    Dataset<Row> keys = spark.sql("SELECT * FROM VALUES 0L, 4L AS k (row)");
    Dataset<Row> joined = df.join(keys, "row").select(plain.columns()[0], tail(plain.columns()));
    for (Map<String, String> mode : sampledModes()) {
      with(mode, () -> assertReblocked(array, MatrixBlocks.reblock(joined, 4, 6), 4, 6));
    }
    keys.createOrReplaceTempView("keys_of_blocks");
    Dataset<Row> filtered =
        df.where("row % 4 = 0 AND row <= (SELECT max(row) FROM keys_of_blocks)");
    assertReblocked(array, MatrixBlocks.reblock(filtered, 4, 6), 4, 6);
    assertFails(() -> MatrixBlocks.reblock(df, 4, 6).collectAsList(), "block at row 1, col 5");
  }

  private static String[] tail(String[] names) {
    return java.util.Arrays.copyOfRange(names, 1, names.length);
  }

  @Tag("versions")
  @Test
  void oneShuffleWithWhatWasPredicted() {
    int[][] cases = {
      {300, 200, 7, 5, 64, 64}, {300, 200, 64, 64, 7, 5}, {301, 199, 50, 40, 32, 199},
      {128, 128, 32, 32, 16, 64}, {97, 89, 7, 5, 5, 7}, {64, 512, 64, 8, 8, 64}
    };
    for (int[] c : cases) {
      TestArray array = TestArray.matrix(ElementType.FLOAT32, c[0], c[1], c[2], c[3]);
      Dataset<Row> df = localRows(stated(plain(array), c[0] + "," + c[1], c[2] + "," + c[3]));
      for (String adaptive : List.of("true", "false")) {
        with(
            Map.of("spark.sql.adaptive.enabled", adaptive),
            () -> {
              Dataset<Row> other = MatrixBlocks.reblock(df, c[4], c[5]);
              String plan = explained(other);
              var shuffles = shuffles(other);
              assertEquals(1, shuffles.size(), plan);
              long measured = shuffles.get(0).metrics().apply("dataSize").value();
              var assemble = PlanNodes.assembling(plan(other).executedPlan()).get(0);
              long predicted = assemble.assembled().get().predicted().bytes();
              assertEquals(measured, predicted, plan); // to the byte, where the metadata is right
              assertTrue(plan.contains("shuffle predicted " + predicted + " bytes"), plan);
              assertEquals(predicted, assemble.metrics().apply("predictedBytes").value());
            });
      }
    }
  }

  @Test
  void predictionsSayWhatTheyDoNotKnow() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 30, 20, 7, 5);
    Dataset<Row> df = plain(array);
    assertTrue(explained(MatrixBlocks.reblock(df, 4, 4)).contains("shuffle not predicted"));
    Dataset<Row> stated = MatrixBlocks.withExtents(df, 30, 20);
    assertTrue(
        explained(MatrixBlocks.reblock(stated, 4, 4)).contains("shuffle predicted at least "));
    assertTrue(
        explained(MatrixBlocks.reblock(stated.withColumn("sample", lit(1)), 4, 4))
            .contains(" bytes per array"));
  }

  @Test
  void metadataIsKept() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 30, 20, 7, 5);
    ArrayMetadata metadata =
        ArrayMetadata.of(
            MatrixBlocks.reblock(stated(plain(array), "30,20", "7,5"), 4, 6)
                .schema()
                .apply("values")
                .metadata());
    assertEquals("(30, 20)", metadata.extents(2).orElseThrow().toString());
    assertEquals("(4, 6)", metadata.blockShape(2).orElseThrow().toString());
  }

  @Test
  void lazy() {
    Dataset<Row> failing =
        plain(TestArray.matrix(ElementType.FLOAT32, 8, 8, 4, 4))
            .withColumn("row", functions.expr("row + CAST(raise_error('ran') AS BIGINT)"));
    for (Dataset<Row> df : List.of(failing, MatrixBlocks.withExtents(failing, 8, 8))) {
      Dataset<Row> other = MatrixBlocks.reblock(df, 3, 3);
      assertTrue(explained(other).contains("BlockStage of pieces (matrix 3 x 3, missing=error"));
      assertFails(other::collectAsList, "ran");
    }
  }

  /** Rows come partitioned and sorted by the places of their blocks; Spark need not do it again. */
  @Test
  void blocksAreWhereTheirPlacesSay() {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 30, 20, 7, 5);
    Dataset<Row> df = plain(array).withColumn("sample", lit(1)).localCheckpoint();
    Dataset<Row> other = MatrixBlocks.reblock(df, 4, 6);
    Dataset<Row> counted = other.groupBy("sample", "row", "col").count();
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> fresh = counted.select("*");
            assertEquals(32, fresh.collectAsList().size());
            // One for the re-block; one for the extents' aggregate, below the marks.
            assertEquals(2, shuffles(fresh).size(), explained(fresh));
          });
    }
  }

  @Test
  void fromSql() {
    TestArray array = TestArray.matrix(ElementType.INT16, 19, 26, 6, 6);
    plain(array).createOrReplaceTempView("plain");
    assertReblocked(array, sql("matrix_reblock(TABLE(plain), 5, 8)"), 5, 8);
    assertReblocked(
        array,
        sql("matrix_reblock(cols => 8, rows => 5, input => TABLE(plain), extents => '19,26')"),
        5,
        8);
    assertEquals(17, sql("matrix_reblock(TABLE(plain), 19, 5, 'zero', '19,81')").count());
    assertReblocked(
        array,
        sql("matrix_reblock(TABLE(SELECT * FROM matrix_reblock(TABLE(plain), 19, 3)), 4, 9)"),
        4,
        9);
    assertFails(() -> sql("matrix_reblock(TABLE(plain), 5)"), "argument cols is missing");
    assertFails(
        () -> sql("matrix_reblock(TABLE(plain), 'five', 6)"),
        "rows is 'five'; expected a constant whole number, as 4 or '4'");
    assertFails(
        () -> sql("matrix_reblock(TABLE(plain), 5, 6, 'ignore')"),
        "matrix_reblock: missing is 'ignore'; expected error or zero");
  }

  // ---- helpers

  private static Dataset<Row> sql(String call) {
    return spark.sql("SELECT * FROM " + call);
  }

  private static Dataset<Row> plain(TestArray array) {
    return array.toDataFrame(spark, 3).drop("tag");
  }

  private static Dataset<Row> stated(Dataset<Row> df, String extents, String blockShape) {
    Metadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.parse("extents", extents, 2))
            .withBlockShape(Shape.parse("shape", blockShape, 2))
            .toMetadata();
    return df.withColumn("values", col("values").as("values", metadata));
  }

  private static void assertReblocked(TestArray array, Dataset<Row> df, int rows, int cols) {
    TestArray target =
        new TestArray(
            array.kind(), array.type(), array.extents(), Shape.of(rows, cols), array.complex());
    target.assertPermuted(SAME, df.withColumn("tag", lit(null).cast("string")));
  }

  private static List<ShuffleExchangeExec> shuffles(Dataset<Row> df) {
    df.collectAsList();
    return PlanNodes.all(plan(df), ShuffleExchangeExec.class);
  }

  private static void assertCutsBatches(Dataset<Row> df) {
    df.collectAsList();
    List<BlockStageExec> nodes = PlanNodes.cutting(plan(df).executedPlan());
    assertEquals(1, nodes.size());
    assertTrue(
        nodes.get(0).blocks().get(0).supportsColumnar(), () -> plan(df).executedPlan().toString());
  }
}
