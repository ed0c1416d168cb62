package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.MultiplyOptions.Strategy;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestProduct;

/**
 * In one executor with one device every panel goes up once. In a JVM of its own, since what several
 * executors share is not. Tasks without room for shared panels are {@code
 * DevicePanelMultiplierIT}'s.
 */
@RequiresGpu
class PanelSharingIT {
  private static final int M = 512;
  private static final int K = 640;
  private static final int N = 384;
  private static final int PARTS = 4;
  private static final int ROUNDS = 5;
  private static final long BYTES_A = 4L * M * K;
  private static final long BYTES_B = 4L * K * N;

  private static final Pattern CASE = Pattern.compile("(?m)^CASE (.*)$");

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  /**
   * The traffic of a product.
   *
   * @param up bytes of panels that went up
   * @param predicted the same as the planner expected
   * @param reused bytes that were there already
   * @param bits a hash of the result
   */
  private record Seen(String name, long up, long predicted, long reused, int bits) {
    @Override
    public String toString() {
      return "CASE " + name + " " + up + " " + predicted + " " + reused + " " + bits;
    }

    static Seen of(String text) {
      String[] words = text.split(" ");
      return new Seen(
          words[0],
          Long.parseLong(words[1]),
          Long.parseLong(words[2]),
          Long.parseLong(words[3]),
          Integer.parseInt(words[4]));
    }
  }

  @Test
  void everyPanelGoesUpOnceWhereThereIsRoom() {
    List<Seen> all = run();
    assertEquals(4 * ROUNDS, all.size());
    assertEquals(
        4,
        all.stream().map(seen -> seen.name() + " " + seen.bits()).distinct().count(),
        () -> "each has the same bits in all rounds: " + all);
    for (Seen seen : all) {
      boolean gram = seen.name().equals("gram");
      assertEquals(gram ? BYTES_A : BYTES_A + BYTES_B, seen.up(), seen::toString);
      assertEquals(seen.up(), seen.predicted(), seen::toString);
      long reused =
          switch (seen.name()) {
            case "product" -> (PARTS - 1) * (BYTES_A + BYTES_B);
            case "deep" -> BYTES_A + BYTES_B;
            case "gram" -> (PARTS - 1) * BYTES_A;
            case "broadcast" -> (M / 64 - 1) * BYTES_B;
            default -> throw new AssertionError(seen.name());
          };
      assertEquals(reused, seen.reused(), seen::toString);
    }
  }

  private List<Seen> run() {
    Map<String, String> conf = new TreeMap<>();
    conf.put("spark.master", "local[4]");
    conf.put("spark.app.name", "shared panels");
    conf.put("spark.driver.host", "127.0.0.1");
    conf.put("spark.driver.bindAddress", "127.0.0.1");
    conf.put("spark.ui.enabled", "false");
    conf.put("spark.sql.shuffle.partitions", "4");
    conf.put("spark.sql.extensions", TileSparkExtensions.class.getName());
    conf.put("spark.plugins", TileSparkPlugin.class.getName());
    conf.put(TileSparkConf.BACKEND.name(), "gpu");
    conf.put(TileSparkConf.MULTIPLY_ENGINE.name(), "own");
    conf.put(TileSparkConf.AUTOTUNE_BUDGET.name(), "0");
    conf.put(TileSparkConf.PINNED_POOL_SIZE.name(), "64m");
    conf.put(TileSparkConf.BATCH_SIZE.name(), "64k");
    List<String> options = new ArrayList<>(List.of("-Xmx1g"));
    conf.forEach((key, value) -> options.add("-D" + key + "=" + value));
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                Job.class.getName(),
                List.of(),
                options,
                Map.of("CUDA_VISIBLE_DEVICES", "0"),
                directory.resolve("job.log"))
            .await(Duration.ofMinutes(5));
    assertEquals(0, outcome.exitCode(), outcome::output);
    List<Seen> seen = new ArrayList<>();
    Matcher lines = CASE.matcher(outcome.output());
    while (lines.find()) {
      seen.add(Seen.of(lines.group(1)));
    }
    return seen;
  }

  /** Multiplies, and prints what was seen. */
  static final class Job {
    private Job() {}

    public static void main(String[] args) throws Exception {
      try (SparkSession spark = SparkSession.builder().getOrCreate()) {
        TestProduct a = TestProduct.random(ElementType.FLOAT32, M, K, 1);
        TestProduct b = TestProduct.random(ElementType.FLOAT32, K, N, 2);
        MultiplyOptions options = MultiplyOptions.defaults().withBlockShape(M / PARTS, N / PARTS);
        Dataset<Row> left = a.frame(spark, 64, 64);
        Dataset<Row> right = b.frame(spark, 64, 64);
        for (int round = 0; round < ROUNDS; round++) {
          run(
              "product",
              a,
              b,
              () ->
                  MatrixBlocks.multiply(
                      left, right, options.withStrategy(new Strategy.Cuboid(PARTS, PARTS, 1))));
          run(
              "deep",
              a,
              b,
              () ->
                  MatrixBlocks.multiply(
                      left, right, options.withStrategy(new Strategy.Cuboid(2, 2, 2))));
          run(
              "gram",
              a,
              a.transposed(),
              () ->
                  MatrixBlocks.multiply(
                      left,
                      left,
                      options
                          .withTransposeB(true)
                          .withBlockShape(M / PARTS, M / PARTS)
                          .withStrategy(new Strategy.Cuboid(PARTS, PARTS, 1))));
          run(
              "broadcast",
              a,
              b,
              () -> MatrixBlocks.multiply(left, right, options.withStrategy(Strategy.BROADCAST)));
        }
        ExecutorRuntime runtime = ExecutorRuntime.current();
        for (int i = 0; i < 600 && runtime.liveDeviceBytes() > 0; i++) {
          Thread.sleep(50);
        }
        assertEquals(0, runtime.liveDeviceBytes(), "device bytes alive when nothing runs");
      }
    }

    private static void run(
        String name, TestProduct a, TestProduct b, Supplier<Dataset<Row>> product) {
      Dataset<Row> df = product.get();
      int bits = TestProduct.bits(df).hashCode();
      var query = SparkTest.plan(df);
      List<SparkPlan> nodes = new ArrayList<>(PlanNodes.all(query, MultiplyPanelsExec.class));
      nodes.addAll(PlanNodes.all(query, MultiplyBroadcastExec.class));
      assertEquals(1, nodes.size(), query::toString);
      var metrics = nodes.get(0).metrics();
      long up = metrics.apply("bytesUp").value();
      long predicted = metrics.apply("predictedBytesUp").value();
      long reused = metrics.apply("reusedBytes").value();
      System.out.println(new Seen(name, up, predicted, reused, bits));
      TestProduct.assertProduct(a, b, product.get());
      assertTrue(
          SparkTest.explained(df).contains(" up, "), () -> "EXPLAIN: " + query.simpleString());
    }
  }
}
