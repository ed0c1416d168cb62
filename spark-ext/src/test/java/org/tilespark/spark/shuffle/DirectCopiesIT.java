package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.exchange.PiecesInPlaceExec;
import org.tilespark.spark.fourier.FourierTestBase;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.TaskMetrics;
import org.tilespark.spark.testing.ExchangedBytes;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;
import scala.Option;

/**
 * With a GPU the CPU copies no values: the device reads cached blocks and pieces from an exchange
 * in place, and writes results where an exchange or the query takes them.
 */
@RequiresGpu
class DirectCopiesIT {
  private static final int EXTENT = 96;

  @TempDir static Path folder;
  private static SparkSession spark;

  /** Ends the application of other test classes. */
  @BeforeAll
  static void start() {
    if (SparkSession.getDefaultSession().isDefined()) {
      SparkSession.getDefaultSession().get().stop();
    }
    spark =
        SparkSession.builder()
            .master("local[2]")
            .appName("direct copies")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.sql.warehouse.dir", folder.resolve("warehouse").toUri().toString())
            .config("spark.sql.extensions", TileSparkExtensions.class.getName())
            .config("spark.plugins", TileSparkPlugin.class.getName())
            .config(TileSparkConf.BACKEND.name(), "gpu")
            .config(TileSparkConf.EXCHANGE_MODE.name(), "memory")
            .config(TileSparkConf.FOURIER_TASK_SIZE.name(), "0")
            .getOrCreate();
  }

  @AfterAll
  static void stop() {
    if (spark != null) {
      spark.stop();
    }
  }

  private static Dataset<Row> cached(Dataset<Row> blocks) {
    Dataset<Row> cached = blocks.persist(StorageLevel.MEMORY_ONLY());
    cached.count();
    return cached;
  }

  /** Bytes that the CPU copied for the device in a query that has run. */
  private static long staged(SparkPlan plan) {
    return PlanNodes.all(plan, SparkPlan.class).stream()
        .map(node -> node.metrics().get(TaskMetrics.STAGED))
        .filter(Option::isDefined)
        .mapToLong(found -> Math.max(0, ((SQLMetric) found.get()).value()))
        .sum();
  }

  @Test
  void transforms() {
    TestField field = TestField.random(1, true, EXTENT, EXTENT, EXTENT);
    int[] shape = {EXTENT, EXTENT, EXTENT};
    transforms(
        field,
        FourierTestBase.stated(
            field.blocks(spark, ElementType.FLOAT32, true, EXTENT / 4, EXTENT, EXTENT),
            shape,
            EXTENT / 4,
            EXTENT,
            EXTENT));
  }

  /** Spark's projection to a column that states the extents copies nothing. */
  @Test
  void transformsOfFramesThatStateNothing() {
    TestField field = TestField.random(1, true, EXTENT, EXTENT, EXTENT);
    transforms(field, field.blocks(spark, ElementType.FLOAT32, true, EXTENT / 4, EXTENT, EXTENT));
  }

  private static void transforms(TestField field, Dataset<Row> slabs) {
    Dataset<Row> query =
        VolumeBlocks.fft(
            cached(slabs), FftOptions.of(Map.of("decomposition", "slabs", "output", "natural")));
    TestField found = TestField.of(query, EXTENT, EXTENT, EXTENT);
    found.assertNear(field.fft("xyz"), ElementType.FLOAT32, "fft");
    SparkPlan plan = query.queryExecution().executedPlan();
    query.collectAsList();
    long bytes = 8L * EXTENT * EXTENT * EXTENT;
    ExchangedBytes exchanged = ExchangedBytes.of(plan);
    assertTrue(exchanged.inPlace() >= bytes, exchanged::toString);
    assertEquals(0, staged(plan));
  }

  @Test
  void transposes() {
    TestProduct matrix = TestProduct.random(ElementType.FLOAT32, 600, 500, 2);
    Dataset<Row> query = MatrixBlocks.transpose(cached(matrix.frame(spark, 200, 250)));
    query.collectAsList();
    assertEquals(0, staged(query.queryExecution().executedPlan()));
  }

  @Test
  void products() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 512, 512, 3);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 512, 512, 4);
    Dataset<Row> query =
        MatrixBlocks.multiply(
            cached(a.frame(spark, 256, 256)),
            cached(b.frame(spark, 256, 256)),
            MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,1)")));
    TestProduct.assertProduct(a, b, query);
    query.collectAsList();
    SparkPlan plan = query.queryExecution().executedPlan();
    assertEquals(2, PlanNodes.all(plan, PiecesInPlaceExec.class).size(), plan::toString);
    assertEquals(0, staged(plan));
  }
}
