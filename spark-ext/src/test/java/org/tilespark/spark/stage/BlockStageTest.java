package org.tilespark.spark.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.apache.spark.api.java.function.ForeachFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.ExplainMode$;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.host.HostProfile;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/**
 * Chains of operators that are one physical stage: the plan, the rows, and the memory that is
 * released.
 */
class BlockStageTest extends SparkTest {
  private static final TestArray MATRIX = TestArray.matrix(ElementType.FLOAT64, 33, 26, 7, 9);
  private static final TestArray VOLUME =
      TestArray.volume(ElementType.FLOAT32, 9, 7, 11, 4, 3, 5).withImag();
  private static final List<String> ORDERS = List.of("yzx", "zyx", "yzx", "xzy");

  /** Rows that {@link #cancelledQueriesFreeTheirMemory} has seen. */
  private static CountDownLatch seen;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void aChainIsOneStageAndGivesWhatItsOperatorsGive(int operators) {
    Permutation all = Permutation.identity(3);
    for (String axes : ORDERS.subList(0, operators)) {
      all = all.then(Permutation.parse(axes));
    }
    for (Map<String, String> mode : sampledModes()) {
      Permutation expected = all;
      uncomposed(
          mode,
          () -> {
            Dataset<Row> chain = chain(VOLUME.toDataFrame(spark, 3), operators);
            VOLUME.assertPermuted(expected, chain);
            BlockStageExec stage = onlyStage(chain);
            assertEquals(VOLUME.blockCount(), stage.metrics().apply("numBlocks").value());
            if (onGpu()) { // one trip, however many operators
              assertEquals(9 * 7 * 11 * 2 * 4L, stage.metrics().apply("bytesUp").value());
              assertEquals(9 * 7 * 11 * 2 * 4L, stage.metrics().apply("bytesDown").value());
            }
          });
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void matricesInSmallBatchesAndBlocksLargerThanOne(int operators) {
    for (String batch : List.of("1k", "100b")) { // a block has 504 bytes
      uncomposed(
          Map.of(TileSparkConf.BATCH_SIZE.name(), batch),
          () -> {
            Dataset<Row> chain = MATRIX.toDataFrame(spark, 1);
            for (int i = 0; i < operators; i++) {
              chain = MatrixBlocks.transpose(chain);
            }
            Permutation expected =
                operators % 2 == 1 ? Permutation.of(1, 0) : Permutation.identity(2);
            MATRIX.assertPermuted(expected, chain);
            onlyStage(chain);
          });
    }
  }

  /** Two blocks of 65 MiB: rows that each have a buffer of their own. */
  @Test
  void largeBlocks() {
    int rows = 4096;
    int cols = 4160;
    Dataset<Row> blocks =
        spark.sql(
            """
            SELECT 0L AS row, col, 4096 AS rows, 4160 AS cols,
              sequence(CAST(col AS INT), CAST(col AS INT) + 17039359) AS values
            FROM VALUES 0L, 4160L AS columns(col)
            """);
    int[][] places = {{0, 0}, {0, 4159}, {4095, 0}, {1234, 777}, {4095, 4159}};
    List<String> columns = new ArrayList<>(List.of("row", "col", "rows", "cols"));
    for (int[] place : places) {
      columns.add("element_at(values, %d) AS v".formatted(place[1] * rows + place[0] + 1));
    }
    List<Row> found =
        MatrixBlocks.transpose(blocks).selectExpr(columns.toArray(String[]::new)).collectAsList();
    assertEquals(2, found.size());
    for (Row row : found) {
      long from = row.getLong(0);
      assertEquals(List.of(0L, cols, rows), List.of(row.getLong(1), row.getInt(2), row.getInt(3)));
      for (int i = 0; i < places.length; i++) {
        long index = (long) places[i][0] * cols + places[i][1];
        assertEquals(index + from, row.getInt(4 + i), row::toString);
      }
    }
  }

  @Tag("versions")
  @Test
  void explainSaysWhatAllOperatorsDo() {
    uncomposed(
        Map.of(TileSparkConf.BACKEND.name(), "cpu"),
        () -> {
          Dataset<Row> chain = chain(VOLUME.toDataFrame(spark, 2), 2);
          String steps = "volume of 3 axes: permute xzy";
          String backend = "backend=cpu -> cpu (" + HostProfile.current().describe() + ")";
          assertTrue(
              explained(chain).contains("BlockStage " + steps + " [" + backend + "]"),
              explained(chain));
          String formatted = formatted(chain);
          assertTrue(formatted.contains(") BlockStage\n"), formatted);
          assertTrue(
              formatted.contains("Steps: " + steps + "\nBackend: " + backend + "\n"), formatted);
        });
  }

  /** A device takes many of them at once: no bit depends on which. */
  @Test
  void manySmallArraysGiveWhatEachGivesAlone() {
    Dataset<Row> matrices = smallArrays("0L AS row, 0L AS col, 6 AS rows, 10 AS cols", 6, 10);
    Dataset<Row> volumes =
        smallArrays("0L AS x, 0L AS y, 0L AS z, 3 AS nx, 4 AS ny, 5 AS nz", 3, 4, 5);
    List<UnaryOperator<Dataset<Row>>> ofMatrices =
        List.of(
            m -> MatrixBlocks.sum(m, "row"),
            m -> MatrixBlocks.std(m, "col"),
            m -> MatrixBlocks.argmax(m, "row"),
            m -> MatrixBlocks.map(m, "v * row + col"),
            m -> MatrixBlocks.zip(m, MatrixBlocks.map(m, "sqrt(v + 100)"), "a / b"));
    List<UnaryOperator<Dataset<Row>>> ofVolumes =
        List.of(
            VolumeBlocks::fft,
            v -> VolumeBlocks.fft(v, FftOptions.of(Map.of("real", "true"))),
            v -> VolumeBlocks.var(v, "y"));
    ofMatrices.forEach(operator -> assertEachAlone(matrices, operator));
    ofVolumes.forEach(operator -> assertEachAlone(volumes, operator));
  }

  private static void assertEachAlone(Dataset<Row> arrays, UnaryOperator<Dataset<Row>> operator) {
    List<Row> all = operator.apply(arrays).orderBy("id").collectAsList();
    assertEquals(300, all.size());
    for (int id : new int[] {0, 131, 299}) {
      Dataset<Row> alone = operator.apply(arrays.filter("id = " + id));
      assertEquals(List.of(all.get(id)), alone.collectAsList(), () -> formatted(alone));
    }
  }

  /** 300 arrays of one block each. */
  private Dataset<Row> smallArrays(String block, long... extents) {
    Shape shape = Shape.of(extents);
    return spark
        .range(0, 300, 1, 2)
        .withColumn(
            "values",
            functions.expr(
                "transform(sequence(1, %d), k -> CAST(sin(id * 100 + k) AS FLOAT))"
                    .formatted(shape.elements())))
        .selectExpr(("id, " + block + ", values").split(", "))
        .withMetadata(
            "values", ArrayMetadata.empty().withExtents(shape).withBlockShape(shape).toMetadata());
  }

  /** A planner chooses who computes by the size of what goes to a device at once. */
  @Test
  void thePlanTellsHowLargeAnArrayIs() {
    assertEquals(OptionalLong.empty(), arrayBytes(ArrayMetadata.empty()));
    ArrayMetadata extents = ArrayMetadata.empty().withExtents(Shape.of(33, 26));
    assertEquals(OptionalLong.of(33 * 26 * 8), arrayBytes(extents));
    assertEquals(OptionalLong.of(7 * 9 * 8), arrayBytes(extents.withBlockShape(Shape.of(7, 9))));
  }

  private OptionalLong arrayBytes(ArrayMetadata metadata) {
    Dataset<Row> blocks =
        MATRIX.toDataFrame(spark, 2).withMetadata("values", metadata.toMetadata());
    LogicalPlan plan = MatrixBlocks.map(blocks, "v + 1").queryExecution().optimizedPlan();
    return BlockStage.endingIn((ProgramBlocks) plan).arrayBytes();
  }

  @Test
  void columnsChosenReorderedAndRenamedBetweenDoNotPartAStage() {
    uncomposed(
        Map.of(),
        () -> {
          Dataset<Row> renamed =
              MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2))
                  .selectExpr(
                      "values",
                      "tag AS label",
                      "row AS first",
                      "rows",
                      "row",
                      "col",
                      "cols",
                      "tag AS other");
          Dataset<Row> chain = MatrixBlocks.transpose(renamed).withColumnRenamed("label", "tag");
          onlyStage(chain);
          assertEquals(
              List.of("values", "tag", "first", "rows", "row", "col", "cols", "other"),
              List.of(chain.columns()));
          MATRIX.assertPermuted(Permutation.identity(2), chain);
          // Kept from before the second transpose: the first one's rows are its columns.
          assertEquals(0, chain.where("first <> col OR NOT other <=> tag").count());
        });
  }

  @Test
  void whatComputesOrMixesUpColumnsPartsAStage() {
    uncomposed(
        Map.of(),
        () -> {
          Dataset<Row> once = MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2));
          Dataset<Row> computed =
              MatrixBlocks.transpose(
                  once.withColumn("tag", org.apache.spark.sql.functions.expr("tag || ''")));
          assertEquals(2, stages(computed).size());
          MATRIX.assertPermuted(Permutation.identity(2), computed);
          Dataset<Row> values = MatrixBlocks.transpose(once.selectExpr("*", "values AS before"));
          assertEquals(2, stages(values).size());
          MATRIX.assertPermuted(Permutation.identity(2), values);
          Dataset<Row> filtered = MatrixBlocks.transpose(once.where("size(values) > 0"));
          assertEquals(2, stages(filtered).size());
          MATRIX.assertPermuted(Permutation.identity(2), filtered);
          Dataset<Row> limited = MatrixBlocks.transpose(once.limit(MATRIX.blockCount() - 1));
          assertEquals(2, stages(limited).size());
          assertEquals(MATRIX.blockCount() - 1, limited.collectAsList().size());
          // Places under each other's names.
          List<String> swapped = List.of("col AS row", "row AS col", "rows", "cols", "values");
          Dataset<Row> mixed =
              MatrixBlocks.transpose(once.selectExpr(swapped.toArray(String[]::new)));
          assertEquals(2, stages(mixed).size());
          Dataset<Row> apart =
              MatrixBlocks.transpose(
                  once.localCheckpoint().selectExpr(swapped.toArray(String[]::new)));
          assertEquals(0, mixed.exceptAll(apart).count());
          assertEquals(MATRIX.blockCount(), mixed.count());
        });
  }

  @Test
  void anUnusedImaginaryPartIsNotMistakenForAFurtherColumn() {
    uncomposed(
        Map.of(),
        () -> {
          Dataset<Row> once = VolumeBlocks.permute(VOLUME.toDataFrame(spark, 2), "yzx");
          Dataset<Row> real = VolumeBlocks.permute(once.drop("imag"), "zxy");
          real.collectAsList();
          assertFalse(List.of(real.columns()).contains("imag"));
          new TestArray(VOLUME.kind(), VOLUME.type(), VOLUME.extents(), VOLUME.blockShape(), false)
              .assertPermuted(Permutation.identity(3), real);
          Dataset<Row> other =
              VolumeBlocks.permute(
                  once.drop("imag")
                      .withColumnRenamed("values", "imag")
                      .withColumn("values", org.apache.spark.sql.functions.col("imag")),
                  "zxy");
          assertEquals(VOLUME.blockCount(), other.where("values = imag").count());
        });
  }

  @Test
  void defectsNameTheOperatorThatFindsThem() {
    uncomposed(
        Map.of(),
        () -> {
          Dataset<Row> df = MATRIX.toDataFrame(spark, 2);
          Dataset<Row> stale =
              MatrixBlocks.transpose(MatrixBlocks.withExtents(MatrixBlocks.transpose(df), 26, 30));
          onlyStage(stale);
          assertFails(
              stale::collectAsList,
              "it ends at row 33, the column metadata tilespark.extents says [30, 26]",
              "(in matrix_transpose)");
          Dataset<Row> bad = df.selectExpr("row", "col", "rows + 1 AS rows", "cols", "values");
          assertFails(
              () -> MatrixBlocks.transpose(MatrixBlocks.transpose(bad)).collectAsList(),
              "(in matrix_transpose)");
          assertFails(() -> MatrixBlocks.transpose(bad).collectAsList(), "(in matrix_transpose)");
        });
  }

  @Test
  void metadataFollowsEveryOperator() {
    uncomposed(
        Map.of(),
        () -> {
          Dataset<Row> stated = VolumeBlocks.withExtents(VOLUME.toDataFrame(spark, 1), 9, 7, 11);
          Dataset<Row> chain = chain(stated, 2);
          assertEquals(
              "(9, 11, 7)",
              ArrayMetadata.of(chain.schema().apply("values").metadata())
                  .extents(3)
                  .orElseThrow()
                  .toString());
          VOLUME.assertPermuted(Permutation.parse("xzy"), chain);
        });
  }

  @Test
  void cachedJoinedReusedAndInSubqueries() {
    for (Map<String, String> mode : sampledModes()) {
      uncomposed(
          mode,
          () -> {
            Dataset<Row> df = MATRIX.toDataFrame(spark, 3);
            Dataset<Row> chain = MatrixBlocks.transpose(MatrixBlocks.transpose(df));
            Dataset<Row> joined =
                chain.as("a").join(chain.as("b").hint("merge"), "tag").where("a.values = b.values");
            joined.collectAsList();
            assertEquals(
                chain.where("tag IS NOT NULL").select("tag").distinct().count(), joined.count());
            chain.createOrReplaceTempView("chain");
            assertEquals(
                MATRIX.blockCount(),
                spark
                    .sql(
                        "SELECT * FROM chain WHERE size(values) <= (SELECT max(size(values)) FROM"
                            + " chain) AND size(values) >= (SELECT min(size(values)) FROM chain)")
                    .count());
            Dataset<Row> cached = chain.cache();
            MATRIX.assertPermuted(Permutation.identity(2), cached);
            assertTrue(
                explained(MatrixBlocks.transpose(MatrixBlocks.transpose(df)))
                    .contains("InMemoryRelation"),
                "an equal plan is answered from the cache");
            cached.unpersist(true);
          });
    }
  }

  @Test
  void anEqualExchangeIsReused() {
    uncomposed(
        Map.of("spark.sql.autoBroadcastJoinThreshold", "-1", "spark.sql.adaptive.enabled", "false"),
        () -> {
          Dataset<Row> df = MATRIX.toDataFrame(spark, 3).localCheckpoint();
          Dataset<Row> chain = MatrixBlocks.transpose(MatrixBlocks.transpose(df));
          Dataset<Row> joined = chain.as("a").join(chain.as("b").hint("merge"), "row");
          assertFalse(
              PlanNodes.all(plan(joined), ReusedExchangeExec.class).isEmpty(),
              () -> explained(joined));
          assertTrue(joined.count() > 0);
        });
  }

  @Test
  void limitsAndFailuresInTheMiddleFreeEverything(@TempDir Path dir) throws InterruptedException {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 256, 256, 8, 8);
    String file = dir.resolve("m.npy").toString();
    array.toDataFrame(spark, 4).drop("tag").write().format("npy").save(file);
    for (boolean files : new boolean[] {true, false}) {
      Dataset<Row> read =
          files
              ? spark.read().format("npy").option("blockShape", "8,8").load(file)
              : array.toDataFrame(spark, 4);
      uncomposed(
          Map.of(TileSparkConf.BATCH_SIZE.name(), "2k"),
          () -> {
            Dataset<Row> below = MatrixBlocks.transpose(MatrixBlocks.transpose(read));
            assertEquals(1, below.limit(1).collectAsList().size());
            assertEquals(1, MatrixBlocks.transpose(MatrixBlocks.transpose(below.limit(1))).count());
            assertEquals(
                1,
                MatrixBlocks.transpose(MatrixBlocks.transpose(below.limit(1)))
                    .collectAsList()
                    .size());
            assertFails(
                () ->
                    below
                        .where("IF(row = 64, raise_error('downstream'), size(values)) > 0")
                        .collectAsList(),
                "downstream");
            assertFails(
                () ->
                    MatrixBlocks.transpose(
                            MatrixBlocks.transpose(
                                below.where(
                                    "IF(row = 64, raise_error('between'), size(values)) > 0")))
                        .collectAsList(),
                "between");
          });
      nothingIsAlive();
    }
  }

  @Test
  void cancelledQueriesFreeTheirMemory() throws InterruptedException {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 256, 256, 8, 8);
    Dataset<Row> df = array.toDataFrame(spark, 4);
    List<Throwable> failures = new ArrayList<>();
    seen = new CountDownLatch(8);
    Thread query =
        new Thread(
            () ->
                uncomposed(
                    Map.of(TileSparkConf.BATCH_SIZE.name(), "2k"),
                    () -> {
                      spark.sparkContext().setJobGroup("to be cancelled", "a slow query", true);
                      Dataset<Row> chain = MatrixBlocks.transpose(MatrixBlocks.transpose(df));
                      failures.add(
                          assertThrows(
                              Exception.class,
                              () -> chain.foreach((ForeachFunction<Row>) BlockStageTest::dawdle)));
                    }));
    query.start();
    assertTrue(seen.await(60, TimeUnit.SECONDS), "the query came under way");
    spark.sparkContext().cancelJobGroup("to be cancelled");
    query.join(300_000);
    assertFalse(query.isAlive());
    assertEquals(1, failures.size());
    assertTrue(failures.get(0).getMessage().contains("cancelled"), failures.get(0).getMessage());
    nothingIsAlive();
  }

  private static void dawdle(Row row) throws InterruptedException {
    seen.countDown();
    TimeUnit.MILLISECONDS.sleep(100);
  }

  /** {@code operators} permutations of a volume, one after the other. */
  private static Dataset<Row> chain(Dataset<Row> df, int operators) {
    Dataset<Row> chain = df;
    for (String axes : ORDERS.subList(0, operators)) {
      chain = VolumeBlocks.permute(chain, axes);
    }
    return chain;
  }

  /** Runs {@code body} with settings changed, and no permutation made of two. */
  private static void uncomposed(Map<String, String> settings, Runnable body) {
    Map<String, String> all = new HashMap<>(settings);
    all.put("spark.sql.optimizer.excludedRules", "org.tilespark.spark.permute.ComposePermutations");
    with(all, body);
  }

  private static boolean onGpu() {
    return DeviceProbe.run().isPresent()
        && !spark.conf().get(TileSparkConf.BACKEND.name(), "auto").equals("cpu");
  }

  private static String formatted(Dataset<Row> df) {
    return plan(df).explainString(ExplainMode$.MODULE$.fromString("formatted"));
  }

  private static BlockStageExec onlyStage(Dataset<Row> df) {
    List<BlockStageExec> stages = stages(df);
    assertEquals(1, stages.size(), () -> explained(df));
    return stages.get(0);
  }

  private static List<BlockStageExec> stages(Dataset<Row> df) {
    return PlanNodes.computing(plan(df).executedPlan());
  }
}
