package org.tilespark.spark.cluster;

import static org.apache.spark.sql.functions.col;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.shuffle.TileShuffleManager;
import org.tilespark.spark.testing.TestArray;
import org.tilespark.spark.testing.TestProduct;

/**
 * An application whose executors are killed, as by the operating system when memory is short, or
 * whose shuffle files are lost: every answer must be right, bit for bit what it is without.
 *
 * <p>Arguments: a directory that all processes share, and the one below which executors have their
 * local files.
 */
public final class KilledExecutorJob {
  private static final Permutation TRANSPOSE = Permutation.of(1, 0);
  private static final int PARTITIONS = 6; // of 6 blocks each
  private static final int MIDDLE = 3;

  private final SparkSession spark;
  private final Executors executors;
  private final Killing killing;
  private final Path shared;
  private final TestArray array = TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15);
  private final TestProduct a = TestProduct.random(ElementType.FLOAT64, 60, 50, 1);
  private final TestProduct b = TestProduct.random(ElementType.FLOAT64, 50, 40, 2);

  private KilledExecutorJob(SparkSession spark, Executors executors, Path shared, Path local) {
    this.spark = spark;
    this.executors = executors;
    this.shared = shared;
    this.killing = new Killing(spark, executors, shared, local);
  }

  public static void main(String[] args) throws IOException {
    Cases cases = new Cases();
    try (SparkSession spark = SparkSession.builder().getOrCreate()) {
      Executors executors = new Executors(spark.sparkContext(), 2);
      KilledExecutorJob job =
          new KilledExecutorJob(spark, executors, Path.of(args[0]), Path.of(args[1]));
      cases.run("transpose", job::transpose);
      cases.run("multiply, before its shuffle", job::multiplyBeforeItsShuffle);
      cases.run("multiply, behind its shuffle", job::multiplyBehindItsShuffle);
      cases.run("reblock, behind its shuffle", job::reblockBehindItsShuffle);
      cases.run("executor killed while others fetch from it", job::killedWhileOthersFetch);
      cases.run("npy sink", job::npySink);
      cases.run("zarr sink", job::zarrSink);
      cases.run("executor lost between stages", job::executorLostBetweenStages);
      cases.run("shuffle files lost between stages", job::shuffleFilesLostBetweenStages);
      cases.run("shuffle removed while executors are unknown", job::removedWhileUnknown);
      new KilledZarrCases(spark, job.killing, Path.of(args[0])).run(cases, false);
      new KilledVolumeCases(spark, job.killing).run(cases);
      cases.run("nothing alive", executors::assertNothingAlive);
    }
    cases.end();
  }

  private void transpose() throws Exception {
    Dataset<Row> blocks = array.toDataFrame(spark, PARTITIONS);
    killing.atRow(
        "transpose",
        MIDDLE,
        killer ->
            array.assertPermuted(
                TRANSPOSE, MatrixBlocks.transpose(Interference.through(spark, blocks, killer))));
  }

  private void multiplyBeforeItsShuffle() throws Exception {
    Map<String, List<?>> right = rightProduct();
    killing.atRow(
        "cut",
        MIDDLE,
        killer -> {
          Dataset<Row> left = Interference.through(spark, a.frame(spark, 10, 7), killer);
          assertEquals(right, TestProduct.bits(product(left)));
        });
  }

  private void multiplyBehindItsShuffle() throws Exception {
    Map<String, List<?>> right = rightProduct();
    killing.atRow(
        "product",
        MIDDLE,
        killer -> {
          // Rows come out of the stage that multiplies.
          Dataset<Row> handedOut =
              Interference.through(spark, product(a.frame(spark, 10, 7)), killer);
          assertEquals(right, TestProduct.bits(handedOut));
        });
  }

  private void reblockBehindItsShuffle() throws Exception {
    TestArray target = TestArray.matrix(ElementType.FLOAT32, 120, 90, 13, 17);
    Dataset<Row> blocks = array.toDataFrame(spark, PARTITIONS).drop("tag");
    killing.atRow(
        "reblock",
        MIDDLE,
        killer -> {
          Dataset<Row> assembled =
              Interference.through(spark, MatrixBlocks.reblock(blocks, 13, 17), killer);
          target.assertPermuted(
              Permutation.of(0, 1), assembled.selectExpr("*", "cast(null AS STRING) AS tag"));
        });
  }

  /** Rows of ours right from the shuffle: no node of ours takes them all before one is seen. */
  private void killedWhileOthersFetch() throws Exception {
    Map<String, Long> before = executors.committed();
    Dataset<Row> exchanged =
        MatrixBlocks.transpose(array.toDataFrame(spark, PARTITIONS)).repartition(3, col("row"));
    killing.whileReducersFetch(exchanged, df -> array.assertPermuted(TRANSPOSE, df));
    assertTrue(
        executors.committed().entrySet().stream()
            .anyMatch(now -> now.getValue() > before.getOrDefault(now.getKey(), 0L)),
        "nothing went to memory");
  }

  private void npySink() throws Exception {
    Dataset<Row> blocks = array.toDataFrame(spark, PARTITIONS).drop("tag");
    Path target = Files.createDirectory(shared.resolve("sink")).resolve("out.npy");
    write(MatrixBlocks.transpose(blocks), target);
    byte[] right = Files.readAllBytes(target);
    Files.write(target, new byte[] {1, 2, 3});
    String path = target.toString();
    killing.atRow(
        "write",
        MIDDLE,
        killer -> {
          Dataset<Row> dying =
              Interference.through(
                  spark,
                  MatrixBlocks.transpose(blocks),
                  row -> {
                    assertOldOrWhole(Path.of(path));
                    killer.at(row);
                  });
          write(dying, target);
        });
    assertArrayEquals(right, Files.readAllBytes(target));
    try (Stream<Path> files = Files.list(target.getParent())) {
      assertEquals(List.of(target), files.toList());
    }
    Dataset<Row> again =
        spark.read().format("npy").option("blockShape", "15,20").load(target.toString());
    array.assertPermuted(TRANSPOSE, again.selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  /** The old array is gone when the first chunk is written; the new one is there after the last. */
  private void zarrSink() throws Exception {
    Dataset<Row> blocks = MatrixBlocks.transpose(array.toDataFrame(spark, PARTITIONS).drop("tag"));
    Path target = shared.resolve("out.zarr");
    KilledDriverJob.writeZarr(blocks, "15,20", target.toString());
    Map<String, String> right = KilledDriverJob.contents(target);
    assertEquals(6 * 6 + 1, right.size());
    String metadata = target.resolve("zarr.json").toString();
    killing.atRow(
        "write-zarr",
        MIDDLE,
        killer -> {
          Dataset<Row> dying =
              Interference.through(
                  spark,
                  blocks,
                  row -> {
                    assertTrue(!Files.exists(Path.of(metadata)), "metadata before all chunks");
                    killer.at(row);
                  });
          KilledDriverJob.writeZarr(dying, "15,20", target.toString());
        });
    assertEquals(right, KilledDriverJob.contents(target));
  }

  /** Nobody sees a part of a file while it is written. */
  private static void assertOldOrWhole(Path target) throws IOException {
    long bytes = Files.size(target);
    assertTrue(bytes == 3 || bytes == 128 + 120 * 90 * 4, () -> "target of " + bytes + " bytes");
  }

  private void executorLostBetweenStages() throws Exception {
    Map<String, List<?>> right = rightProduct();
    killing.executorBetweenStages(
        product(a.frame(spark, 10, 7)), df -> assertEquals(right, TestProduct.bits(df)));
  }

  private void shuffleFilesLostBetweenStages() throws Exception {
    Map<String, List<?>> right = rightProduct();
    killing.shuffleFilesBetweenStages(
        product(a.frame(spark, 10, 7)), df -> assertEquals(right, TestProduct.bits(df)));
  }

  /**
   * A fetch that fails makes the driver forget the block manager of the executor that it was from,
   * also if that lives. Spark's cleaner then reaches the others only.
   */
  private void removedWhileUnknown() throws Exception {
    executors.assertNothingAlive();
    Dataset<Row> blocks = array.toDataFrame(spark, PARTITIONS).drop("tag");
    // No execution made its shuffle, with which that would end.
    JavaRDD<Row> rows = MatrixBlocks.reblock(blocks, 13, 17).toJavaRDD();
    assertTrue(rows.count() > 0);
    assertTrue(executors.outputsInMemory() > 0, "nothing went to memory");
    int shuffle = TileShuffleManager.served().get(0).shuffleId();
    for (String id : executors.pids().keySet()) {
      SparkEnv.get().blockManager().master().removeExecutor(id);
    }
    spark.sparkContext().cleaner().get().doCleanupShuffle(shuffle, true);
    executors.assertNothingHeld();
    assertTrue(rows.count() > 0, "rows once more, from map tasks that ran again");
    assertTrue(executors.outputsInMemory() > 0, "what was made anew is not let go");
  }

  /** Two shuffles: one of pieces, one of partial sums. */
  private Dataset<Row> product(Dataset<Row> left) {
    return MatrixBlocks.multiply(
        left,
        b.frame(spark, 8, 9),
        MultiplyOptions.of(Map.of("strategy", "cuboid(2,2,2)", "blockShape", "11,13")));
  }

  private Map<String, List<?>> rightProduct() {
    Dataset<Row> product = product(a.frame(spark, 10, 7));
    TestProduct.assertProduct(a, b, product);
    return TestProduct.bits(product);
  }

  private static void write(Dataset<Row> blocks, Path target) {
    // With the extents, nothing but the write looks at the blocks.
    blocks
        .write()
        .format("npy")
        .option("extents", "90,120")
        .mode(SaveMode.Overwrite)
        .save(target.toString());
  }
}
