package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.scheduler.AccumulableInfo;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.StorageLevel;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestProduct;

/**
 * An application that keeps all devices of its executors busy. Prints {@code TASKS executor
 * blocks}, the blocks of the tasks that Spark gave each executor; {@code DEVICE executor/number
 * blocks}, the blocks that each device transposed; and a hash of each result. Arguments: how many
 * executors there are, and the words of what is to be run, {@code transpose} and {@code multiply}.
 */
public final class DeviceSpreadJob {
  private static final int PARTITIONS = 64;
  private static final int ROUNDS = 10;

  private final SparkSession spark;

  private DeviceSpreadJob(SparkSession spark) {
    this.spark = spark;
  }

  public static void main(String[] args) throws Exception {
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      int count = Integer.parseInt(args[0]);
      Executors executors = new Executors(spark.sparkContext(), count);
      if (!spark.sparkContext().isLocal()) {
        executors.awaitAll();
      }
      DeviceSpreadJob job = new DeviceSpreadJob(spark);
      for (int i = 1; i < args.length; i++) {
        switch (args[i]) {
          case "transpose" -> job.transpose();
          case "multiply" -> job.multiply();
          default -> throw new IllegalArgumentException(args[i]);
        }
      }
      if (!spark.sparkContext().isLocal()) {
        executors.assertNothingAlive();
      }
    }
  }

  /** Transposes cached blocks again and again, as many in each partition; rows checked once. */
  private void transpose() throws Exception {
    TestArray array = TestArray.matrix(ElementType.FLOAT32, 1024, 512, 32, 32);
    Dataset<Row> blocks = array.toDataFrame(spark, PARTITIONS).persist(StorageLevel.MEMORY_ONLY());
    Dataset<Row> transposed = MatrixBlocks.transpose(blocks);
    TransposingTasks tasks = new TransposingTasks();
    spark.sparkContext().addSparkListener(tasks);
    array.assertPermuted(Permutation.of(1, 0), transposed);
    for (int round = 1; round < ROUNDS; round++) {
      transposed.write().format("noop").mode("overwrite").save();
    }
    awaitStatus(ROUNDS * (long) array.blockCount());
    spark.sparkContext().listenerBus().waitUntilEmpty(60_000);
    spark.sparkContext().removeSparkListener(tasks);
    long blocksOfTask = array.blockCount() / PARTITIONS;
    tasks.byExecutor.forEach(
        (executor, count) -> System.out.println("TASKS " + executor + " " + count * blocksOfTask));
    int bits = 0;
    for (Row row : transposed.select("row", "col", "values").collectAsList()) {
      bits += row.hashCode(); // in whatever order
    }
    System.out.println("RESULT transpose " + bits);
    blocks.unpersist(true);
  }

  private void multiply() {
    TestProduct a = TestProduct.random(ElementType.FLOAT32, 300, 500, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT32, 500, 200, 2);
    Dataset<Row> product = MatrixBlocks.multiply(a.frame(spark, 40, 40), b.frame(spark, 40, 40));
    TestProduct.assertProduct(a, b, product);
    System.out.println("RESULT multiply " + TestProduct.bits(product).hashCode());
  }

  /** Waits until the executors have told of all their blocks, and prints what each device did. */
  private void awaitStatus(long blocks) throws IOException, InterruptedException {
    Map<String, Long> byDevice = new TreeMap<>();
    for (int i = 0; i < 200; i++) {
      byDevice.clear();
      URI json = URI.create(spark.sparkContext().uiWebUrl().get() + "/GPU/json");
      for (JsonNode executor : new ObjectMapper().readTree(json.toURL())) {
        for (JsonNode device : executor.path("status").path("devices")) {
          byDevice.merge(
              executor.get("executorId").asText() + "/" + device.get("ordinal").asInt(),
              device.get("work").get("blocks").asLong(),
              Long::sum);
        }
      }
      if (byDevice.values().stream().mapToLong(Long::longValue).sum() >= blocks) {
        break;
      }
      TimeUnit.MILLISECONDS.sleep(100);
    }
    byDevice.forEach((device, done) -> System.out.println("DEVICE " + device + " " + done));
    assertEquals(blocks, byDevice.values().stream().mapToLong(Long::longValue).sum(), "blocks");
  }

  /** Counts the tasks that transpose, which alone have the metric, by executor. */
  private static final class TransposingTasks extends SparkListener {
    final Map<String, Long> byExecutor = new ConcurrentHashMap<>();

    @Override
    public void onTaskEnd(SparkListenerTaskEnd task) {
      for (AccumulableInfo metric :
          ScalaInterop.<AccumulableInfo>list(task.taskInfo().accumulables().toSeq())) {
        if (metric.name().contains("number of blocks")) {
          byExecutor.merge(task.taskInfo().executorId(), 1L, Long::sum);
        }
      }
    }
  }
}
