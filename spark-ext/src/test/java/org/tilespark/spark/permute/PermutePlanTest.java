package org.tilespark.spark.permute;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.ui.SQLExecutionUIData;
import org.apache.spark.sql.execution.ui.SQLPlanMetric;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.DeviceProbe;
import org.tilespark.kernels.host.HostProfile;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.runtime.PeakMemory;
import org.tilespark.spark.stage.BlockStageExec;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import scala.jdk.javaapi.CollectionConverters;

/** The optimizer's plans of our nodes, and EXPLAIN and the metrics. */
@Tag("versions")
class PermutePlanTest extends SparkTest {
  private static final TestArray MATRIX = TestArray.matrix(ElementType.FLOAT32, 20, 30, 6, 7);
  private static final TestArray VOLUME = TestArray.volume(ElementType.FLOAT32, 6, 5, 4, 3, 2, 2);

  @Test
  void transposeOfTransposeIsNothing() {
    Dataset<Row> twice =
        MatrixBlocks.transpose(MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2)));
    assertFalse(optimized(twice).contains("ProgramBlocks"), optimized(twice));
    MATRIX.assertPermuted(Permutation.identity(2), twice);
  }

  @Test
  void permutationsAreComposedAlsoOverASelection() {
    Dataset<Row> df = VOLUME.toDataFrame(spark, 2);
    Dataset<Row> composed =
        VolumeBlocks.permute(
            VolumeBlocks.permute(df, "yzx")
                .select("tag", "z", "y", "x", "nx", "ny", "nz", "values"),
            "xzy");
    assertEquals(1, count(optimized(composed), "ProgramBlocks"), optimized(composed));
    assertTrue(optimized(composed).contains("permute yxz"), optimized(composed));
    VOLUME.assertPermuted(Permutation.parse("yxz"), composed);
    Dataset<Row> thrice =
        VolumeBlocks.permute(VolumeBlocks.permute(VolumeBlocks.permute(df, "yzx"), "yzx"), "yzx");
    assertFalse(optimized(thrice).contains("ProgramBlocks"), optimized(thrice));
    VOLUME.assertPermuted(Permutation.identity(3), thrice);
    Dataset<Row> identity = VolumeBlocks.permute(df, "xyz");
    assertFalse(optimized(identity).contains("ProgramBlocks"));
  }

  @Test
  void unusedValuesAreNotPermuted() {
    Dataset<Row> transposed = MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2));
    Dataset<Row> places = transposed.select("row", "rows", "tag");
    assertFalse(optimized(places).contains("ProgramBlocks"), optimized(places));
    // 30 columns in blocks of 7: the last block of the transposed matrix begins at row 28.
    assertEquals(28, places.selectExpr("max(row)").first().getLong(0));
    Dataset<Row> count = transposed.groupBy().count();
    assertFalse(optimized(count).contains("ProgramBlocks"), optimized(count));
    assertEquals(MATRIX.blockCount(), count.first().getLong(0));
  }

  @Test
  void unusedFurtherColumnsAreDroppedBelow() {
    Dataset<Row> values = MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2)).select("values");
    String plan = optimized(values);
    assertTrue(plan.contains("ProgramBlocks"), plan);
    assertFalse(
        plan.substring(plan.indexOf("ProgramBlocks")).split("\n", -1)[1].contains("tag"), plan);
  }

  @Test
  void filtersOnPlacesGoBelow() {
    Dataset<Row> df = MATRIX.toDataFrame(spark, 2).localCheckpoint();
    Dataset<Row> filtered =
        MatrixBlocks.transpose(df).where("row = 7 AND tag IS NOT NULL AND size(values) > 1");
    String plan = optimized(filtered);
    String below = plan.substring(plan.indexOf("ProgramBlocks"));
    assertTrue(below.contains("col#"), plan);
    assertTrue(below.contains("= 7"), plan);
    assertTrue(plan.substring(0, plan.indexOf("ProgramBlocks")).contains("size("), plan);
    for (Row row : filtered.collectAsList()) {
      assertEquals(7L, row.<Long>getAs("row"));
    }
    assertEquals(
        df.where("col = 7 AND tag IS NOT NULL AND size(values) > 1").count(), filtered.count());
  }

  @Test
  void explainShowsAxesBackendAndReason() {
    Dataset<Row> df = VolumeBlocks.permute(VOLUME.toDataFrame(spark, 2), "yzx");
    String cpu = "cpu (" + HostProfile.current().describe() + ")";
    with(
        Map.of(TileSparkConf.BACKEND.name(), "cpu"),
        () ->
            assertTrue(
                explained(VolumeBlocks.permute(VOLUME.toDataFrame(spark, 2), "yzx"))
                    .contains("permute yzx [backend=cpu -> " + cpu + "]")));
    Availability<DeviceProbe> probe = DeviceProbe.run();
    String expected =
        "[backend=auto -> "
            + (probe.isPresent() ? "gpu: " : cpu + ": ")
            + (probe.isPresent() ? probe.get().description() : probe.whyNot());
    with(
        Map.of(TileSparkConf.BACKEND.name(), "auto"),
        () -> assertTrue(explained(df).contains(expected), explained(df)));
    String formatted =
        plan(df)
            .explainString(
                org.apache.spark.sql.execution.ExplainMode$.MODULE$.fromString("formatted"));
    assertTrue(formatted.contains("permute yzx\nBackend: "), formatted);
  }

  @Test
  void gpuWithoutOneFailsAndSaysWhy() {
    Availability<DeviceProbe> probe = DeviceProbe.run();
    org.junit.jupiter.api.Assumptions.assumeFalse(probe.isPresent(), "this machine has a GPU");
    with(
        Map.of(TileSparkConf.BACKEND.name(), "gpu"),
        () -> {
          Dataset<Row> df = MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 1));
          assertTrue(explained(df).contains("gpu, which will fail: "), explained(df));
          assertFails(df::collect, "spark.tilespark.backend=gpu, but executor", probe.whyNot());
        });
    assertFails(
        () -> spark.conf().set(TileSparkConf.BACKEND.name(), "tpu"),
        "spark.tilespark.backend is 'tpu'; expected auto|gpu|cpu");
  }

  @Test
  void metricsCountBlocks() {
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> df = MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2));
            df.collectAsList();
            BlockStageExec node = PlanNodes.computing(plan(df).executedPlan()).get(0);
            assertEquals(MATRIX.blockCount(), node.metrics().apply("numBlocks").value());
            boolean gpu = DeviceProbe.run().isPresent();
            assertTrue(node.metrics().apply(gpu ? "kernelTime" : "hostTime").value() > 0);
            for (String name :
                List.of(
                    "copyUpTime",
                    "copyDownTime",
                    "turnTime",
                    "memoryTime",
                    "resultTime",
                    "peakDeviceMemory",
                    "peakPinnedMemory")) {
              assertEquals(gpu, node.metrics().apply(name).value() > 0, name);
            }
            for (String name : List.of("bytesUp", "bytesDown")) {
              assertEquals(
                  gpu ? 20 * 30 * 4L : 0L, Math.max(0, node.metrics().apply(name).value()), name);
            }
          });
    }
  }

  @Test
  void theUiShowsEveryMetricUnderItsName() throws Exception {
    Dataset<Row> df = MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2));
    spark.sparkContext().listenerBus().waitUntilEmpty(300_000); // of the queries before
    long before = executions().stream().mapToLong(e -> e.executionId()).max().orElse(-1);
    df.collectAsList();
    // Spark puts the metrics of a query that has ended together on a thread of its own.
    String blocks = Integer.toString(MATRIX.blockCount());
    Map<String, String> shown = metricsAfter(before);
    for (int i = 0; i < 600 && !blocks.equals(shown.get("number of blocks")); i++) {
      Thread.sleep(100);
      shown = metricsAfter(before);
    }
    boolean gpu = DeviceProbe.run().isPresent();
    for (String name :
        List.of(
            "number of blocks",
            "bytes up",
            "bytes down",
            "time copying up",
            "time in kernels",
            "time copying down",
            "time waiting for a turn on the GPU",
            "time waiting for device memory",
            "time waiting for results",
            "device memory asked for again",
            "batches split for want of device memory",
            "peak device memory",
            "peak pinned memory")) {
      assertTrue(shown.containsKey(name), name + " in " + shown);
    }
    assertEquals(blocks, shown.get("number of blocks"));
    if (gpu) {
      // One size, not a sum with its quartiles.
      assertTrue(shown.get("peak device memory").matches("[0-9.]+ [KMGTP]?i?B"), shown.toString());
    }
  }

  /** The UI's metrics of the first query after one, by their names. */
  private static Map<String, String> metricsAfter(long executionId) {
    Map<String, String> shown = new TreeMap<>();
    executions().stream()
        .filter(e -> e.executionId() > executionId)
        .findFirst()
        .ifPresent(
            execution -> {
              var values =
                  CollectionConverters.asJava(
                      spark.sharedState().statusStore().executionMetrics(execution.executionId()));
              ScalaInterop.<SQLPlanMetric>list(execution.metrics())
                  .forEach(
                      m -> shown.put(m.name(), values.getOrDefault(m.accumulatorId(), "nothing")));
            });
    return shown;
  }

  @Test
  void peaksOfTasksAreNotAdded() {
    assertEquals("2.0 GiB", new PeakMemory().aggregateTaskMetrics(new long[] {1 << 30, 1L << 31}));
    assertEquals("0.0 B", new PeakMemory().aggregateTaskMetrics(new long[0]));
  }

  private static List<SQLExecutionUIData> executions() {
    return ScalaInterop.list(spark.sharedState().statusStore().executionsList());
  }

  @Test
  void oursReadAndMakeRowsThemselves() {
    Dataset<Row> df = MatrixBlocks.transpose(MATRIX.toDataFrame(spark, 2));
    for (Map<String, String> mode : sampledModes()) {
      with(
          mode,
          () -> {
            Dataset<Row> fresh = df.select("*");
            fresh.collectAsList();
            String plan = plan(fresh).executedPlan().toString();
            assertFalse(plan.contains("BatchesToRows"), plan);
            assertFalse(plan.contains("RowToColumnar"), plan);
            assertFalse(plan.contains("ColumnarToRow"), plan);
          });
    }
  }

  @Test
  void sessionWithoutTheExtensionIsToldSo() {
    SparkConf conf = spark.sparkContext().conf();
    String extensions = conf.get("spark.sql.extensions");
    conf.remove("spark.sql.extensions");
    SparkSession bare;
    try {
      bare = new org.apache.spark.sql.classic.SparkSession(spark.sparkContext());
    } finally {
      conf.set("spark.sql.extensions", extensions);
    }
    Dataset<Row> df = MATRIX.toDataFrame(bare, 1);
    assertFails(
        () -> MatrixBlocks.transpose(df),
        "does not have tilespark's extension",
        "spark.sql.extensions=org.tilespark.spark.TileSparkExtensions");
  }

  private static int count(String text, String part) {
    return text.split(part, -1).length - 1;
  }
}
