package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.shuffle.StoredBlocks;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/**
 * Sessions in local mode, one after the other in one process, each configured so that another part
 * serves the shuffles of blocks. Each asserts which part that is, and that the answers are right.
 */
public final class ExchangeModesJob {
  private ExchangeModesJob() {}

  public static void main(String[] args) {
    Cases cases = new Cases();
    cases.run("in memory", () -> in(Map.of(), ExchangeModesJob::assertAllInMemory));
    cases.run(
        "more than fits into memory",
        () -> in(Map.of(TileSparkConf.STORE_SIZE.name(), "64k"), ExchangeModesJob::assertSpills));
    for (String key : new String[] {"spark.io.encryption.enabled", "spark.shuffle.push.enabled"}) {
      cases.run(key, () -> in(Map.of(key, "true"), spark -> assertSparks(spark, key)));
    }
    cases.run(
        "a manager that the user names",
        () ->
            in(
                Map.of("spark.shuffle.manager", UsersManager.class.getName()),
                ExchangeModesJob::assertUsers));
    cases.run("in memory once more", () -> in(Map.of(), ExchangeModesJob::assertAllInMemory));
    cases.end();
  }

  /** A manager of a user's, which counts what it serves. */
  public static final class UsersManager extends SortShuffleManager {
    private static final AtomicInteger SERVED = new AtomicInteger();

    public UsersManager(SparkConf conf) {
      super(conf);
    }

    @Override
    public <K, V, C> ShuffleHandle registerShuffle(
        int shuffleId, ShuffleDependency<K, V, C> dependency) {
      SERVED.incrementAndGet();
      return super.registerShuffle(shuffleId, dependency);
    }
  }

  @FunctionalInterface
  private interface Session {
    void run(SparkSession spark);
  }

  private static void in(Map<String, String> conf, Session body) throws IOException {
    Map<String, String> settings = new TreeMap<>();
    settings.put("spark.master", "local[2]");
    settings.put("spark.app.name", "modes of the exchange");
    settings.put("spark.ui.enabled", "false");
    settings.put("spark.sql.shuffle.partitions", "3");
    settings.put("spark.sql.extensions", TileSparkExtensions.class.getName());
    settings.put("spark.plugins", TileSparkPlugin.class.getName());
    settings.put(TileSparkConf.BACKEND.name(), "cpu");
    settings.put(TileSparkConf.FOURIER_TASK_SIZE.name(), "0"); // transforms exchange twice
    settings.putAll(conf);
    SparkSession.Builder builder = SparkSession.builder();
    settings.forEach(builder::config);
    try (SparkSession spark = builder.getOrCreate()) {
      body.run(spark);
    }
  }

  private static Dataset<Row> reblocked(SparkSession spark) {
    Dataset<Row> blocks =
        TestArray.matrix(ElementType.FLOAT32, 240, 180, 40, 30).toDataFrame(spark, 6).drop("tag");
    return MatrixBlocks.reblock(blocks, 50, 70).selectExpr("*", "cast(null AS STRING) AS tag");
  }

  private static void assertRight(SparkSession spark) {
    TestArray.matrix(ElementType.FLOAT32, 240, 180, 50, 70)
        .assertPermuted(Permutation.of(0, 1), reblocked(spark));
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 60, 50, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 50, 40, 2);
    TestProduct.assertProduct(
        a,
        b,
        MatrixBlocks.multiply(
            a.frame(spark, 10, 17),
            b.frame(spark, 18, 19),
            MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,2)"))));
    TestField field = TestField.random(1, true, 12, 8, 9);
    Dataset<Row> there =
        VolumeBlocks.fft(
            field.blocks(spark, ElementType.FLOAT64, true, 5, 6, 5),
            FftOptions.defaults().withOutput("natural"));
    TestField.of(there, 12, 8, 9).assertNear(field.fft("xyz"), ElementType.FLOAT64, "fft");
  }

  private static void assertAllInMemory(SparkSession spark) {
    spark.conf().set(TileSparkConf.EXCHANGE_MODE.name(), "memory");
    assertEquals(0, StoredBlocks.usedBytes(), "bytes of the session before");
    assertRight(spark);
    assertTrue(StoredBlocks.committed() > 0);
  }

  private static void assertSpills(SparkSession spark) {
    spark.conf().set(TileSparkConf.EXCHANGE_MODE.name(), "memory");
    assertRight(spark);
    // Outputs go to files at once, or later to make room for others.
    long before = ExecutorRuntime.current().exchangeStatus().inFilesBytes();
    assertTrue(reblocked(spark).collectAsList().size() > 0);
    long inFiles = ExecutorRuntime.current().exchangeStatus().inFilesBytes() - before;
    assertTrue(inFiles > 0, "no output went to files");
  }

  private static void assertSparks(SparkSession spark, String reason) {
    assertRight(spark);
    assertEquals(0, StoredBlocks.committed());
    spark.conf().set(TileSparkConf.EXCHANGE_MODE.name(), "memory");
    Exception refused = assertThrows(Exception.class, () -> reblocked(spark).count());
    assertTrue(refused.getMessage().contains(reason + " is true"), refused::getMessage);
  }

  /** Nodes of ours then sort rows with Spark's external sorter. */
  private static void assertUsers(SparkSession spark) {
    assertEquals(UsersManager.class, SparkEnv.get().shuffleManager().getClass());
    int before = UsersManager.SERVED.get();
    assertRight(spark);
    assertTrue(UsersManager.SERVED.get() > before);
    assertEquals(0, StoredBlocks.committed());
  }
}
