package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.ExchangeStatus;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.ExchangedBytes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/** Measurements and texts of exchanges. */
@Tag("versions")
class ExchangeMetricsTest extends SparkTest {
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);
  private static final String MODE = TileSparkConf.EXCHANGE_MODE.name();

  private static Dataset<Row> blocks() {
    return ARRAY.toDataFrame(spark, 6).drop("tag");
  }

  private static Dataset<Row> reblocked() {
    return MatrixBlocks.reblock(blocks(), 13, 17);
  }

  private static void assertRight(Dataset<Row> reblocked) {
    TestArray.matrix(ElementType.FLOAT32, 120, 90, 13, 17)
        .assertPermuted(
            Permutation.of(0, 1), reblocked.selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  private static ExchangeStatus status() {
    return ExecutorRuntime.current().exchangeStatus();
  }

  /** As {@link #runShared}, for a query each of whose tasks reads what no other does. */
  private static ExchangedBytes run(Dataset<Row> query) {
    ExchangedBytes bytes = runShared(query);
    assertEquals(bytes.inMemory(), bytes.readLocally(), bytes::toString);
    return bytes;
  }

  /**
   * Runs a query, and asserts what every one in memory and local mode has in common. Tasks of a
   * product may share what they read.
   */
  private static ExchangedBytes runShared(Dataset<Row> query) {
    ExchangeStatus before = status();
    query.collectAsList();
    ExchangedBytes bytes = ExchangedBytes.of(plan(query).executedPlan());
    ExchangeStatus after = status();
    assertTrue(bytes.inMemory() > 0, bytes::toString);
    assertEquals(0, bytes.inFiles(), bytes::toString);
    assertEquals(0, bytes.readRemotely(), bytes::toString);
    assertTrue(bytes.inPlace() <= bytes.inMemory(), bytes::toString);
    assertEquals(bytes.inMemory(), after.inMemoryBytes() - before.inMemoryBytes());
    assertEquals(bytes.inPlace(), after.inPlaceBytes() - before.inPlaceBytes());
    assertEquals(bytes.readLocally(), after.readLocallyBytes() - before.readLocallyBytes());
    assertEquals(before.inFilesBytes(), after.inFilesBytes());
    assertEquals(before.readRemotelyBytes(), after.readRemotelyBytes());
    assertTrue(after.storePeakBytes() > 0);
    return bytes;
  }

  /** Rows are made where they are kept: all bytes but headers of rows and partitions. */
  @Test
  void piecesAreMadeInPlace() {
    for (Map<String, String> mode : executionModes()) {
      with(
          mode,
          () -> {
            ExchangedBytes bytes = run(reblocked());
            assertTrue(bytes.inPlace() >= 120 * 90 * 4, bytes::toString);
          });
    }
  }

  @Test
  void productsAndTransformsAreCounted() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 60, 50, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 50, 40, 2);
    ExchangedBytes product =
        runShared(
            MatrixBlocks.multiply(
                a.frame(spark, 30, 17),
                b.frame(spark, 28, 19),
                MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,2)", "blockShape", "31,23"))));
    assertTrue(product.readLocally() > product.inMemory(), product::toString);
    with(
        Map.of(TileSparkConf.FOURIER_TASK_SIZE.name(), "0"),
        () ->
            run(
                VolumeBlocks.fft(
                    TestField.random(1, true, 36, 16, 15)
                        .blocks(spark, ElementType.FLOAT64, true, 7, 6, 5),
                    FftOptions.defaults().withOutput("natural"))));
  }

  @Test
  void sparksShuffleCountsNothingHere() {
    with(
        Map.of(MODE, "spark"),
        () -> {
          Dataset<Row> query = reblocked();
          ExchangeStatus before = status();
          query.collectAsList();
          assertEquals(
              new ExchangedBytes(0, 0, 0, 0, 0), ExchangedBytes.of(plan(query).executedPlan()));
          assertEquals(before.inMemoryBytes(), status().inMemoryBytes());
        });
  }

  private static ServedShuffle served(Dataset<Row> query) {
    query.collectAsList();
    return TileShuffleManager.served().get(0);
  }

  @Test
  void explainSaysWhoServes() {
    assertTrue(plan(reblocked()).explainString(formatted()).contains("\nExchange: memory\n"));
    assertEquals(Optional.empty(), served(reblocked()).whySpark());
    with(
        Map.of(MODE, "spark"),
        () -> {
          String line = "\nExchange: spark (" + MODE + " is spark)\n";
          String text = plan(reblocked()).explainString(formatted());
          assertTrue(text.contains(line), text);
          assertEquals(Optional.of(MODE + " is spark"), served(reblocked()).whySpark());
        });
    String transposed = plan(MatrixBlocks.transpose(blocks())).explainString(formatted());
    assertFalse(transposed.contains("\nExchange: "), transposed);
  }

  private static org.apache.spark.sql.execution.ExplainMode formatted() {
    return org.apache.spark.sql.execution.ExplainMode.fromString("formatted");
  }

  /** Decisions of an application's configuration. */
  @ParameterizedTest
  @CsvSource({
    "spark.io.encryption.enabled, true, spark (spark.io.encryption.enabled is true)",
    "spark.shuffle.push.enabled, true, spark (spark.shuffle.push.enabled is true)",
    "spark.shuffle.useOldFetchProtocol, true, spark (spark.shuffle.useOldFetchProtocol is true)",
    "spark.shuffle.sort.io.plugin.class, a.B, spark (spark.shuffle.sort.io.plugin.class is a.B)",
    "spark.shuffle.manager, sort, spark (spark.shuffle.manager is sort)",
    "spark.shuffle.manager, '', spark (spark.plugins has no TileSparkPlugin)",
    "spark.shuffle.compress, true, memory"
  })
  void theConfigurationDecides(String key, String value, String shown) {
    SparkConf conf =
        new SparkConf(false)
            .set("spark.shuffle.manager", TileShuffleManager.class.getName())
            .set(key, value);
    assertEquals(shown, ExchangeChoice.of(conf, name -> null).toString());
  }

  /** Unions of frames stay ours: below what cuts, and between what cuts and the exchange. */
  @Test
  void unionsStayInMemory() {
    Dataset<Row> halves = blocks().where("row < 60").union(blocks().where("row >= 60"));
    assertRight(MatrixBlocks.reblock(halves, 13, 17));
    ExchangedBytes reblocked = run(MatrixBlocks.reblock(halves, 13, 17));
    assertTrue(reblocked.inPlace() >= 120 * 90 * 4, reblocked::toString);
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 60, 50, 3);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 50, 40, 4);
    Dataset<Row> left = a.frame(spark, 20, 25);
    Supplier<Dataset<Row>> product =
        () ->
            MatrixBlocks.multiply(
                left.where("row < 20").union(left.where("row >= 20")),
                b.frame(spark, 25, 10),
                MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,2)", "blockShape", "31,23")));
    TestProduct.assertProduct(a, b, product.get());
    runShared(product.get());
    for (ServedShuffle shuffle : TileShuffleManager.served().subList(0, 4)) {
      assertEquals(Optional.empty(), shuffle.whySpark(), shuffle::toString);
    }
  }
}
