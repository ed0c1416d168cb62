package org.tilespark.spark.reblock;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.Sampling;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/**
 * Volumes go from any tiling to bricks, slabs and pencils, moved once, or not if they are
 * partitioned so.
 */
class VolumeReblockTest extends SparkTest {
  private static final Permutation SAME = Permutation.identity(3);

  /** Slabs, pencils, bricks, ragged ones, single elements along an axis, and the whole. */
  private static final int[][] TILINGS = {
    {3, 17, 11}, {13, 17, 2}, {4, 5, 11}, {5, 4, 3}, {1, 17, 1}, {13, 17, 11}
  };

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5})
  void fromAnyTilingToAnyOther(int source) {
    int[] from = TILINGS[source];
    TestArray array =
        TestArray.volume(ElementType.INT64, 13, 17, 11, from[0], from[1], from[2]).withImag();
    Dataset<Row> df = plain(array).cache();
    for (int target = 0; target < TILINGS.length; target++) {
      int[] to = TILINGS[target];
      Dataset<Row> input =
          switch ((source + target) % 3) {
            case 0 -> df;
            case 1 -> VolumeBlocks.withExtents(df, 13, 17, 11);
            default -> stated(df, array);
          };
      assertTiled(array, VolumeBlocks.reblock(input, to[0], to[1], to[2]), to);
    }
    df.unpersist(true);
  }

  @ParameterizedTest
  @EnumSource
  void slabsAndPencilsOfEveryType(ElementType type) {
    TestArray array = TestArray.volume(type, 7, 11, 5, 3, 4, 2);
    List<Dataset<Row>> frames = List.of(plain(array), stated(plain(array), array));
    for (int i = 0; i < frames.size(); i++) {
      if (Sampling.skips(i + type.ordinal(), 2)) {
        continue;
      }
      Dataset<Row> df = frames.get(i);
      assertTiled(array, VolumeBlocks.slabs(df, "x", 2), 2, 11, 5);
      assertTiled(array, VolumeBlocks.slabs(df, "Y", 3), 7, 3, 5);
      assertTiled(array, VolumeBlocks.slabs(df, "z", 4), 7, 11, 4);
      assertTiled(array, VolumeBlocks.pencils(df, "x", 3, 2), 7, 3, 2);
      assertTiled(array, VolumeBlocks.pencils(df, "y", 2, 5), 2, 11, 5);
      assertTiled(array, VolumeBlocks.pencils(df, "z", 7, 1), 7, 1, 5);
      // All of it is far below what a block may hold; there is one for each of four tasks.
      assertTiled(array, VolumeBlocks.slabs(df, "y"), 7, 2, 5);
      assertTiled(array, VolumeBlocks.pencils(df, "y"), 4, 11, 3);
    }
  }

  /** Plans alone: no block is made. */
  @Test
  void blocksStayBelowTheirUsualSize() {
    TestArray any = TestArray.volume(ElementType.FLOAT32, 1, 1, 1, 1, 1, 1);
    // 1024^3 FLOAT, complex: 8 GiB, 8 MiB for each plane.
    Dataset<Row> cube = VolumeBlocks.withExtents(plain(any.withImag()), 1024, 1024, 1024);
    assertEquals("(31, 1024, 1024)", blockShape(VolumeBlocks.slabs(cube, "x")));
    assertEquals("(1024, 1024, 31)", blockShape(VolumeBlocks.slabs(cube, "z")));
    assertEquals("(1024, 128, 128)", blockShape(VolumeBlocks.pencils(cube, "x")));
    assertEquals("(128, 128, 1024)", blockShape(VolumeBlocks.pencils(cube, "z")));
    // As equal as can be: 1100 MiB are five slabs.
    Dataset<Row> tall = VolumeBlocks.withExtents(plain(any), 512, 1100, 512);
    assertEquals("(512, 220, 512)", blockShape(VolumeBlocks.slabs(tall, "y")));
    // A plane of more than the usual size makes slabs of one plane.
    Dataset<Row> flat = VolumeBlocks.withExtents(plain(any), 5, 20000, 20000);
    assertEquals("(1, 20000, 20000)", blockShape(VolumeBlocks.slabs(flat, "x")));
    assertFails(
        () -> VolumeBlocks.slabs(VolumeBlocks.withExtents(plain(any), 5, 40000, 40000), "x"),
        "VolumeBlocks.slabs: target blocks of [1, 40000, 40000] elements",
        "a block must stay below 2 GiB");
    // Slabs stay, unless their blocks are too large.
    Dataset<Row> slabs = stated(plain(any), "512,512,512", "16,512,512");
    assertEquals("(16, 512, 512)", blockShape(VolumeBlocks.slabs(slabs, "x")));
    assertFalse(analyzed(VolumeBlocks.slabs(slabs, "x")).contains("CutBlocks"));
    assertEquals(
        "(250, 512, 512)",
        blockShape(VolumeBlocks.slabs(stated(plain(any), "1000,512,512", "256,512,512"), "x")));
    Dataset<Row> pencils = stated(plain(any), "512,512,512", "512,30,40");
    assertEquals("(512, 30, 40)", blockShape(VolumeBlocks.pencils(pencils, "x")));
    assertFalse(analyzed(VolumeBlocks.pencils(pencils, "x")).contains("CutBlocks"));
  }

  /** The session has four tasks at once; what is asked of the planner alone. */
  @Test
  void everyTaskHasABlock() {
    assertEquals(4, spark.sparkContext().defaultParallelism());
    TestArray any = TestArray.volume(ElementType.FLOAT32, 1, 1, 1, 1, 1, 1);
    Dataset<Row> small = VolumeBlocks.withExtents(plain(any), 64, 60, 9);
    assertEquals("(16, 60, 9)", blockShape(VolumeBlocks.slabs(small, "x")));
    assertEquals("(64, 15, 9)", blockShape(VolumeBlocks.slabs(small, "y")));
    // Four of 9 cannot be equal: slabs of 3 would be three.
    assertEquals("(64, 60, 2)", blockShape(VolumeBlocks.slabs(small, "z")));
    assertEquals("(64, 15, 9)", blockShape(VolumeBlocks.pencils(small, "x")));
    assertEquals("(32, 30, 9)", blockShape(VolumeBlocks.pencils(small, "z")));
    // Fewer where there are not enough planes or lines.
    Dataset<Row> thin = VolumeBlocks.withExtents(plain(any), 3, 2, 1000);
    assertEquals("(1, 2, 1000)", blockShape(VolumeBlocks.slabs(thin, "x")));
    assertEquals("(1, 1, 1000)", blockShape(VolumeBlocks.pencils(thin, "z")));
    Dataset<Row> line = VolumeBlocks.withExtents(plain(any), 1, 1, 1000);
    assertEquals("(1, 1, 1000)", blockShape(VolumeBlocks.pencils(line, "z")));
    // A volume that is one block has slabs and pencils of every axis; it is cut all the same.
    Dataset<Row> one = stated(plain(any), "64,60,9", "64,60,9");
    assertEquals("(16, 60, 9)", blockShape(VolumeBlocks.slabs(one, "x")));
    assertEquals("(32, 30, 9)", blockShape(VolumeBlocks.pencils(one, "z")));
    Dataset<Row> two = stated(plain(any), "64,60,9", "32,60,9");
    assertEquals("(32, 60, 9)", blockShape(VolumeBlocks.slabs(two, "x")));
    // What is stated is taken as it is.
    assertEquals("(64, 60, 9)", blockShape(VolumeBlocks.slabs(small, "x", 64)));
    assertTrue(
        explained(VolumeBlocks.slabs(small, "x")).contains("bytes into 4 blocks"),
        explained(VolumeBlocks.slabs(small, "x")));
    assertTrue(
        explained(VolumeBlocks.slabs(small, "x", 64)).contains("bytes into 1 block"),
        explained(VolumeBlocks.slabs(small, "x", 64)));
  }

  @Test
  void nothingIsShuffledWhereTheBlocksLieRight() {
    TestArray array = TestArray.volume(ElementType.FLOAT32, 9, 8, 7, 3, 8, 7);
    Dataset<Row> slabs = localRows(stated(plain(array), array));
    for (Dataset<Row> same :
        List.of(VolumeBlocks.slabs(slabs, "x"), VolumeBlocks.slabs(slabs, "x", 3))) {
      assertEquals(List.of(), shufflesOfValues(same), explained(same));
      assertTiled(array, same, 3, 8, 7);
    }
    // A permutation keeps what the metadata says of the blocks: y-slabs of yzx are there already.
    Dataset<Row> permuted = VolumeBlocks.slabs(VolumeBlocks.permute(slabs, "zxy"), "y");
    assertEquals(List.of(), shufflesOfValues(permuted), explained(permuted));
    assertEquals("(7, 3, 8)", blockShape(permuted));
    // Slabs that were made once are partitioned right from then on.
    Dataset<Row> twice = VolumeBlocks.slabs(VolumeBlocks.slabs(slabs, "z", 2), "z");
    assertEquals(1, shufflesOfValues(twice).size(), explained(twice));
    assertFails(
        () -> VolumeBlocks.slabs(slabs.withColumn("nx", lit(2)), "x").collectAsList(),
        "it has the sizes [2, 8, 7]; the column metadata says blocks of (3, 8, 7)");
    slabs.unpersist(true);
  }

  @Test
  void furtherColumnsTellVolumesApart() {
    TestArray a = TestArray.volume(ElementType.FLOAT64, 6, 7, 5, 2, 3, 5);
    TestArray b = TestArray.volume(ElementType.FLOAT64, 3, 10, 4, 2, 4, 1);
    Dataset<Row> both =
        plain(a)
            .withColumn("sample", lit("a"))
            .unionByName(plain(b).withColumn("sample", lit(null).cast("string")))
            .cache();
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> bricks = VolumeBlocks.reblock(both, 4, 3, 3);
            assertTiled(a, bricks.where("sample = 'a'").drop("sample"), 4, 3, 3);
            assertTiled(b, bricks.where("sample IS NULL").drop("sample"), 4, 3, 3);
            Dataset<Row> pencils = VolumeBlocks.pencils(both, "y", 2, 2);
            assertTiled(a, pencils.where("sample = 'a'").drop("sample"), 2, 7, 2);
            assertTiled(b, pencils.where("sample IS NULL").drop("sample"), 2, 10, 2);
          });
    }
    both.unpersist(true);
  }

  /** None has the extents of all together, of which their blocks would be a small part. */
  @Test
  void volumesMayReachFarAlongOneAxisEach() {
    TestArray a = TestArray.volume(ElementType.FLOAT32, 4, 4, 1024, 4, 4, 64);
    TestArray b = TestArray.volume(ElementType.FLOAT32, 1024, 4, 4, 64, 4, 4);
    TestArray c = TestArray.volume(ElementType.FLOAT32, 4, 1024, 4, 4, 64, 4);
    Dataset<Row> all =
        plain(a)
            .withColumn("sample", lit("a"))
            .unionByName(plain(b).withColumn("sample", lit("b")))
            .unionByName(plain(c).withColumn("sample", lit("c")))
            .cache();
    Dataset<Row> slabs = VolumeBlocks.slabs(all, "x", 512);
    assertTiled(a, slabs.where("sample = 'a'").drop("sample"), 512, 4, 1024);
    assertTiled(b, slabs.where("sample = 'b'").drop("sample"), 512, 4, 4);
    assertTiled(c, slabs.where("sample = 'c'").drop("sample"), 512, 1024, 4);
    all.unpersist(true);
  }

  @Test
  void oneShuffleWithWhatWasPredicted() {
    int[][] cases = {
      {61, 47, 31, 7, 5, 31, 61, 47, 4}, // pencils to slabs
      {40, 30, 50, 8, 30, 50, 40, 5, 50}, // slabs to slabs
      {32, 32, 32, 8, 8, 8, 32, 4, 4}, // bricks to pencils
      {29, 31, 37, 29, 31, 37, 5, 7, 11}, // the whole to bricks
      {29, 31, 37, 5, 7, 11, 29, 31, 37} // and back
    };
    for (int[] c : cases) {
      TestArray array =
          TestArray.volume(ElementType.FLOAT32, c[0], c[1], c[2], c[3], c[4], c[5]).withImag();
      Dataset<Row> df = localRows(stated(plain(array), array));
      Dataset<Row> other = VolumeBlocks.reblock(df, c[6], c[7], c[8]);
      List<ShuffleExchangeExec> shuffles = shuffles(other);
      String plan = explained(other);
      assertEquals(1, shuffles.size(), plan);
      long measured = shuffles.get(0).metrics().apply("dataSize").value();
      var assemble = PlanNodes.assembling(plan(other).executedPlan()).get(0);
      assertEquals(measured, assemble.assembled().get().predicted().bytes(), plan);
      assertTrue(plan.contains("shuffle predicted " + measured + " bytes"), plan);
      assertEquals(measured, assemble.metrics().apply("predictedBytes").value());
    }
  }

  /** One stage permutes and gives pieces; one puts pieces together and permutes. */
  @Test
  void permutationsRideAlong(@TempDir Path dir) {
    TestArray array = TestArray.volume(ElementType.FLOAT32, 12, 10, 9, 4, 5, 9);
    String npy = dir.resolve("v.npy").toString();
    plain(array).write().format("npy").save(npy);
    Dataset<Row> read = spark.read().format("npy").option("blockShape", "4,5,9").load(npy);
    // (12, 10, 9) in yzx is (10, 9, 12).
    Dataset<Row> before = VolumeBlocks.slabs(VolumeBlocks.permute(read, "yzx"), "y", 2);
    assertTiled(array, VolumeBlocks.permute(before, "zxy"), 12, 10, 2);
    assertEquals(1, shuffles(before).size(), explained(before));
    assertTrue(explained(before).contains("permute yzx, into pieces ("), explained(before));
    assertEquals(0, PlanNodes.cutting(plan(before).executedPlan()).size());

    Dataset<Row> after = VolumeBlocks.permute(VolumeBlocks.slabs(read, "y", 3), "yzx");
    assertTiled(array, VolumeBlocks.permute(after, "zxy"), 12, 3, 9);
    assertEquals(1, shuffles(after).size(), explained(after));
    List<BlockStageExec> stages = PlanNodes.computing(plan(after).executedPlan());
    assertEquals(1, stages.size());
    assertTrue(stages.get(0).assembled().isDefined(), explained(after));
  }

  @Test
  void missingAndDoubledBlocks() {
    TestArray array = TestArray.volume(ElementType.INT32, 6, 4, 5, 2, 2, 5);
    Dataset<Row> hole = plain(array).where("NOT (x = 2 AND y = 2)");
    for (Dataset<Row> df : List.of(hole, VolumeBlocks.withExtents(hole, 6, 4, 5))) {
      assertFails(
          () -> VolumeBlocks.slabs(df, "z", 2).collectAsList(),
          "block at x 2, y 2, z ",
          "no block of the input holds",
          "VolumeBlocks.slabs");
      assertFails(
          () -> VolumeBlocks.pencils(df, "x", 1, 1).collectAsList(),
          "no block of the input holds",
          "VolumeBlocks.pencils");
      Dataset<Row> zeros = VolumeBlocks.slabs(df, "x", 3, Missing.ZERO);
      assertEquals(2, zeros.count());
      assertEquals(
          // 0 + ... + 119, less what the hole holds: 2 x 2 lines of 5
          119 * 120 / 2 - IntStream.of(10, 15, 30, 35).map(at -> 5 * (40 + at) + 10).sum(),
          sum(zeros));
      assertEquals(20, VolumeBlocks.pencils(df, "z", 2, 1, Missing.ZERO).count() + 8);
    }
    assertFails(
        () -> VolumeBlocks.reblock(plain(array).union(plain(array)), 3, 3, 3).collectAsList(),
        "two blocks of the input hold the element there");
    assertFails(
        () -> VolumeBlocks.slabs(plain(array), "w"), "axis is 'w'; expected one of x, y, z");
    assertFails(
        () -> VolumeBlocks.slabs(plain(array), "x", 0), "expected 1 to 2^31 - 1 along each axis");
    Dataset<Row> none = plain(array).where("x < 0");
    assertEquals(0, VolumeBlocks.slabs(none, "x").count());
    assertEquals(0, VolumeBlocks.pencils(none, "z").count());
  }

  @Test
  void fromSql() {
    TestArray array = TestArray.volume(ElementType.INT16, 9, 6, 7, 4, 3, 2);
    plain(array).createOrReplaceTempView("v");
    assertTiled(array, sql("volume_reblock(TABLE(v), 5, 2, 7)"), 5, 2, 7);
    assertTiled(array, sql("volume_slabs(TABLE(v), 'y', 4)"), 9, 4, 7);
    assertTiled(array, sql("volume_slabs(TABLE(v), axis => 'z')"), 9, 6, 1);
    assertTiled(array, sql("volume_pencils(TABLE(v), 'y', 2, 3)"), 2, 6, 3);
    assertTiled(
        array, sql("volume_pencils(axis => 'x', input => TABLE(v), extents => '9,6,7')"), 9, 3, 4);
    assertEquals(4, sql("volume_slabs(TABLE(v), 'x', 3, 'zero', '12,6,7')").count());
    assertFails(() -> sql("volume_pencils(TABLE(v), 'x', 2)"), "argument second is missing");
    assertFails(
        () -> sql("volume_slabs(TABLE(v), 'q')"), "volume_slabs: axis is 'q'; expected one of");
  }

  /** 2^31 elements and some more, each with its index's lowest byte, in bricks to slabs. */
  @Test
  @Tag("full")
  void moreThan31BitsOfElements() {
    long nx = 1291;
    long ny = 1297;
    long nz = 1289; // 2 158 333 003 elements
    List<long[]> places = new ArrayList<>();
    for (long x = 0; x < nx; x += 331) {
      for (long y = 0; y < ny; y += 333) {
        for (long z = 0; z < nz; z += 337) {
          places.add(
              new long[] {
                x, y, z, Math.min(331, nx - x), Math.min(333, ny - y), Math.min(337, nz - z)
              });
        }
      }
    }
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    Dataset<Row> bricks =
        VolumeBlocks.withExtents(
            spark.createDataFrame(
                context.parallelize(places, 16).mapPartitions(new IndexFilled(ny, nz)),
                TestArray.volume(ElementType.INT8, 1, 1, 1, 1, 1, 1).schema()),
            nx,
            ny,
            nz);
    Dataset<Row> slabs = VolumeBlocks.slabs(bricks, "y", 30);
    List<Long> counted = plan(slabs).toRdd().toJavaRDD().map(new Counted(nx, ny, nz)).collect();
    assertEquals(44, counted.size());
    assertEquals(nx * ny * nz, counted.stream().mapToLong(Long::longValue).sum());
  }

  private record IndexFilled(long ny, long nz) implements FlatMapFunction<Iterator<long[]>, Row> {
    @Override
    public Iterator<Row> call(Iterator<long[]> places) {
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return places.hasNext();
        }

        @Override
        public Row next() {
          return block(places.next());
        }
      };
    }

    private Row block(long[] p) {
      byte[] values = new byte[(int) (p[3] * p[4] * p[5])];
      int at = 0;
      for (long x = p[0]; x < p[0] + p[3]; x++) {
        for (long y = p[1]; y < p[1] + p[4]; y++) {
          for (long z = p[2]; z < p[2] + p[5]; z++) {
            values[at++] = (byte) ((x * ny + y) * nz + z);
          }
        }
      }
      return RowFactory.create(p[0], p[1], p[2], (int) p[3], (int) p[4], (int) p[5], values);
    }
  }

  /** The elements of a y-slab, or as a negative number how many of them are wrong. */
  private record Counted(long nx, long ny, long nz) implements Function<InternalRow, Long> {
    @Override
    public Long call(InternalRow row) {
      byte[] values = row.getArray(6).toByteArray();
      long low = row.getLong(1);
      long wrong = 0;
      int at = 0;
      for (long x = 0; x < nx; x++) {
        for (long y = low; y < low + row.getInt(4); y++) {
          for (long z = 0; z < nz; z++) {
            wrong += values[at++] == (byte) ((x * ny + y) * nz + z) ? 0 : 1;
          }
        }
      }
      return wrong == 0 ? (long) at : -wrong;
    }
  }

  // ---- helpers

  private static Dataset<Row> sql(String call) {
    return spark.sql("SELECT * FROM " + call);
  }

  private static Dataset<Row> plain(TestArray array) {
    return array.toDataFrame(spark, 3).drop("tag");
  }

  private static Dataset<Row> stated(Dataset<Row> df, TestArray array) {
    return stated(df, array.extents().text(), array.blockShape().text());
  }

  private static Dataset<Row> stated(Dataset<Row> df, String extents, String blockShape) {
    Metadata metadata =
        ArrayMetadata.empty()
            .withExtents(Shape.parse("extents", extents, 3))
            .withBlockShape(Shape.parse("shape", blockShape, 3))
            .toMetadata();
    return df.withColumn("values", col("values").as("values", metadata));
  }

  private static String blockShape(Dataset<Row> df) {
    return ArrayMetadata.of(df.schema().apply("values").metadata())
        .blockShape(3)
        .orElseThrow()
        .toString();
  }

  private static String analyzed(Dataset<Row> df) {
    return plan(df).analyzed().toString();
  }

  private static long sum(Dataset<Row> df) {
    return df.selectExpr("sum(aggregate(values, 0L, (s, v) -> s + v))").first().getLong(0);
  }

  private static List<ShuffleExchangeExec> shuffles(Dataset<Row> df) {
    df.collectAsList();
    return PlanNodes.all(plan(df), ShuffleExchangeExec.class);
  }

  /** Without those of places, which are checked together. */
  private static List<ShuffleExchangeExec> shufflesOfValues(Dataset<Row> df) {
    return shuffles(df).stream()
        .filter(shuffle -> shuffle.schema().getFieldIndex("values").isDefined())
        .toList();
  }

  private static void assertTiled(TestArray array, Dataset<Row> df, int... blockShape) {
    new TestArray(
            array.kind(),
            array.type(),
            array.extents(),
            Shape.of(Arrays.stream(blockShape).asLongStream().toArray()),
            array.complex())
        .assertPermuted(SAME, df.withColumn("tag", lit(null).cast(DataTypes.StringType)));
  }
}
