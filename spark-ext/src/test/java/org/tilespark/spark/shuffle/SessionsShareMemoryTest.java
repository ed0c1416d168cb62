package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.storage.BlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Sessions of one driver share its memory: what was not read for longest goes to files. */
class SessionsShareMemoryTest extends SparkTest {
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 60, 45, 20, 15);
  private static final TestArray REBLOCKED = TestArray.matrix(ElementType.FLOAT32, 60, 45, 13, 17);
  private static final long LEFT_BYTES = 128 << 10; // eight first extents

  private final List<Object> alive = new ArrayList<>(); // so that Spark's cleaner does nothing
  private long taken;

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  /** Leaves little memory. */
  @BeforeEach
  void fillMemory() throws InterruptedException {
    spark.catalog().clearCache();
    awaitNoTasks();
    for (int shuffle = 0; shuffle < 100_000; shuffle++) {
      outputs().forget(shuffle);
    }
    StoreBudget budget = outputs().budget();
    assertEquals(
        0,
        budget.usedBytes(),
        () ->
            "cached: "
                + spark.sparkContext().getPersistentRDDs()
                + SparkEnv.get()
                    .blockManager()
                    .getMatchingBlockIds(ScalaInterop.function(id -> ((BlockId) id).isRDD())));
    taken = budget.limitBytes() - LEFT_BYTES;
    assertTrue(budget.take(taken));
  }

  @AfterEach
  void giveBack() {
    outputs().budget().giveBack(taken);
  }

  private Dataset<Row> reblocked(SparkSession session) {
    Dataset<Row> df = MatrixBlocks.reblock(ARRAY.toDataFrame(session, 3).drop("tag"), 13, 17);
    synchronized (alive) {
      alive.add(df);
    }
    return df;
  }

  private void assertRight(List<Row> rows) {
    REBLOCKED.assertPermuted(
        Permutation.of(0, 1),
        spark
            .createDataFrame(rows, reblocked(spark).schema())
            .selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  private static long inFiles() {
    return ExecutorRuntime.current().exchangeStatus().inFilesBytes();
  }

  /** One session keeps outputs that it reads again and again; the others have room all the same. */
  @Test
  void nobodyStarves() {
    List<JavaRDD<Row>> hoarded = new ArrayList<>();
    long committed = outputs().committed();
    long files = inFiles();
    for (int i = 0; i < 4; i++) {
      hoarded.add(reblocked(spark.newSession()).toJavaRDD()); // outputs of no execution stay
      assertRight(hoarded.get(i).collect());
    }
    long before = outputs().committed();
    assertTrue(before > committed, "nothing was kept in memory");
    SparkSession other = spark.newSession();
    for (int i = 0; i < 3; i++) {
      assertRight(reblocked(other).collectAsList());
    }
    assertTrue(outputs().committed() >= before + 3, "the other session found no room");
    assertTrue(outputs().budget().usedBytes() <= outputs().budget().limitBytes());
    assertTrue(inFiles() > files, "nothing went to files");
    for (JavaRDD<Row> each : hoarded) {
      assertRight(each.collect()); // from files
    }
  }

  @Test
  void sessionsAtTheSameTimeAreRight() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<Future<List<Row>>> results = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        SparkSession session = spark.newSession();
        results.add(threads.submit(() -> reblocked(session).collectAsList()));
      }
      for (Future<List<Row>> result : results) {
        assertRight(result.get());
      }
    } finally {
      threads.shutdown();
    }
  }
}
