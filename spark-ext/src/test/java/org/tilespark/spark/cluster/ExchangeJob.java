package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.VolumeBlocks;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.shuffle.StoredBlocks;
import org.tilespark.spark.testing.ExchangedBytes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;

/**
 * An application whose executors exchange blocks with each other. How much memory they have for
 * that is up to its configuration; the answers are not.
 */
public final class ExchangeJob {
  private static final int PARTITIONS = 6;

  private final SparkSession spark;
  private final TestArray array = TestArray.matrix(ElementType.FLOAT32, 240, 180, 40, 30);

  private ExchangeJob(SparkSession spark) {
    this.spark = spark;
  }

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      Executors executors = new Executors(spark.sparkContext(), 2);
      ExchangeJob job = new ExchangeJob(spark);
      cases.run("reblock", job::reblock);
      cases.run("multiply", job::multiply);
      cases.run("fft and back", job::fftAndBack);
      cases.run("union", job::union);
      cases.run("in parts", () -> job.inParts(executors));
      cases.run("kept in memory", () -> assertKept(spark));
      cases.run("all that was written is read", job::metrics);
      cases.run("outputs end with their queries", executors::awaitNoStoredBytes);
      cases.run("nothing alive", executors::assertNothingAlive);
    }
    cases.end();
  }

  /** Unless there is to be none at all: then only outputs without rows are, of no bytes. */
  private static void assertKept(SparkSession spark) {
    boolean none = spark.sparkContext().conf().get(TileSparkConf.STORE_SIZE.name(), "").equals("0");
    int tasks = 4 * spark.sparkContext().defaultParallelism();
    long bytes =
        new JavaSparkContext(spark.sparkContext())
            .parallelize(Collections.nCopies(tasks, 0), tasks)
            .map(number -> ExecutorRuntime.current().exchangeStatus().inMemoryBytes())
            .reduce(Long::max);
    assertEquals(none, bytes == 0, () -> bytes + " bytes were kept in memory");
  }

  private Dataset<Row> blocks() {
    return array.toDataFrame(spark, PARTITIONS).drop("tag");
  }

  private static void assertRight(Dataset<Row> reblocked) {
    TestArray.matrix(ElementType.FLOAT32, 240, 180, 50, 70)
        .assertPermuted(
            Permutation.of(0, 1), reblocked.selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  private void reblock() {
    for (String partitions : new String[] {"2", "7"}) {
      spark.conf().set("spark.sql.shuffle.partitions", partitions);
      assertRight(MatrixBlocks.reblock(blocks(), 50, 70));
    }
  }

  /** Both executors read from themselves and from each other, whatever is in files. */
  private void metrics() {
    Dataset<Row> query = MatrixBlocks.reblock(blocks(), 50, 70);
    query.collectAsList();
    ExchangedBytes bytes = ExchangedBytes.of(SparkTest.plan(query).executedPlan());
    assertTrue(bytes.inMemory() + bytes.inFiles() > 240 * 180 * 4, bytes::toString);
    assertEquals(
        bytes.inMemory() + bytes.inFiles(),
        bytes.readLocally() + bytes.readRemotely(),
        bytes::toString);
    assertTrue(bytes.readLocally() > 0 && bytes.readRemotely() > 0, bytes::toString);
    boolean hasMemory = !spark.conf().get(TileSparkConf.STORE_SIZE.name(), "auto").equals("0");
    assertEquals(hasMemory, bytes.inMemory() > 0, bytes::toString);
    assertEquals(hasMemory, bytes.inPlace() > 0, bytes::toString);
  }

  private void multiply() {
    TestProduct a = TestProduct.random(ElementType.FLOAT64, 160, 150, 1);
    TestProduct b = TestProduct.random(ElementType.FLOAT64, 150, 140, 2);
    for (String strategy : new String[] {"cuboid(2,2,2)", "cuboid(3,2,1)", "cuboid(1,1,4)"}) {
      TestProduct.assertProduct(
          a,
          b,
          MatrixBlocks.multiply(
              a.frame(spark, 30, 17),
              b.frame(spark, 28, 19),
              MultiplyOptions.of(Map.of("strategy", strategy, "blockShape", "31,23"))));
    }
  }

  private void fftAndBack() {
    TestField field = TestField.random(1, true, 36, 16, 15);
    Dataset<Row> df = field.blocks(spark, ElementType.FLOAT64, true, 7, 6, 5);
    spark.conf().set(TileSparkConf.FOURIER_TASK_SIZE.name(), "0");
    Dataset<Row> there = VolumeBlocks.fft(df, FftOptions.defaults().withOutput("natural"));
    TestField.of(there, 36, 16, 15).assertNear(field.fft("xyz"), ElementType.FLOAT64, "fft");
    TestField.of(VolumeBlocks.ifft(there), 36, 16, 15)
        .assertNear(field, ElementType.FLOAT64, "ifft");
  }

  /** As partitions above 2 GiB are sent. */
  private void inParts(Executors executors) {
    executors.onEach(() -> StoredBlocks.limitBuffers(1 << 10));
    try {
      reblock();
      fftAndBack();
      assertEquals(0, executors.failures("FetchFailed"));
    } finally {
      executors.onEach(StoredBlocks::unlimitBuffers);
    }
  }

  /** Each half of the blocks comes from another plan. */
  private void union() {
    Dataset<Row> halves = blocks().where("row < 120").union(blocks().where("row >= 120"));
    assertRight(MatrixBlocks.reblock(halves, 50, 70));
    assertTrue(halves.count() > 0);
  }
}
