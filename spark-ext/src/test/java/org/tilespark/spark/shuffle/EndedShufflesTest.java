package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Outputs go with the SQL execution that made them, and with no other. */
class EndedShufflesTest extends SparkTest {
  private static final TestArray ARRAY = TestArray.matrix(ElementType.FLOAT32, 60, 45, 20, 15);
  private static final TestArray REBLOCKED = TestArray.matrix(ElementType.FLOAT32, 60, 45, 13, 17);

  private final List<Object> alive = new ArrayList<>(); // so that Spark's cleaner does nothing
  private long committedBefore;

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  @BeforeEach
  void beginWithNothing() throws InterruptedException {
    spark.catalog().clearCache();
    awaitNoTasks();
    for (int shuffle = 0; shuffle < 100_000; shuffle++) {
      outputs().forget(shuffle);
    }
    committedBefore = outputs().committed();
  }

  private Dataset<Row> reblocked() {
    Dataset<Row> df = MatrixBlocks.reblock(ARRAY.toDataFrame(spark, 3).drop("tag"), 13, 17);
    alive.add(df);
    return df;
  }

  private void assertRight(Dataset<Row> reblocked) {
    assertRight(reblocked.collectAsList());
  }

  private void assertRight(List<Row> rows) {
    assertEquals(REBLOCKED.blockCount(), rows.size());
    REBLOCKED.assertPermuted(
        Permutation.of(0, 1),
        spark
            .createDataFrame(rows, reblocked().schema())
            .selectExpr("*", "cast(null AS STRING) AS tag"));
  }

  /** Outputs that were made since the test began. */
  private long made() {
    return outputs().committed() - committedBefore;
  }

  /** Outputs of the test that are there still. */
  private long kept() throws InterruptedException {
    awaitNoTasks(); // and listeners have handled all events
    return outputs().inMemory();
  }

  static Iterable<Map<String, String>> modes() {
    return List.of(
        Map.of("spark.sql.adaptive.enabled", "true"),
        Map.of("spark.sql.adaptive.enabled", "false"));
  }

  @Tag("versions")
  @ParameterizedTest
  @MethodSource("modes")
  void outputsGoWhenTheExecutionEnds(Map<String, String> mode) throws InterruptedException {
    with(
        mode,
        () -> {
          assertRight(reblocked());
          assertRight(reblocked().union(reblocked()).distinct());
          assertEquals(1, reblocked().limit(1).collectAsList().size());
          assertTrue(made() > 0);
        });
    assertEquals(0, kept());
  }

  /** The second time all map tasks run again, and from then on the outputs stay. */
  @Tag("versions")
  @ParameterizedTest
  @MethodSource("modes")
  void aPlanThatRunsAgainIsRightAndThenStays(Map<String, String> mode) throws InterruptedException {
    Dataset<Row> reblocked = underMode(mode, this::reblocked);
    assertRight(reblocked);
    long once = made();
    assertEquals(0, kept());
    assertRight(reblocked);
    assertEquals(2 * once, made());
    assertEquals(once, kept());
    for (int i = 0; i < 3; i++) {
      assertRight(reblocked);
    }
    assertEquals(2 * once, made());
    assertEquals(once, kept());
  }

  private static <T> T underMode(Map<String, String> mode, Callable<T> body) {
    List<T> results = new ArrayList<>();
    with(
        mode,
        () -> {
          try {
            results.add(body.call());
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
    return results.get(0);
  }

  @ParameterizedTest
  @MethodSource("modes")
  void whatAnIteratorReadsLaterStays(Map<String, String> mode) throws InterruptedException {
    Dataset<Row> reblocked = underMode(mode, this::reblocked);
    Iterator<Row> rows = reblocked.toLocalIterator();
    awaitNoTasks();
    List<Row> all = new ArrayList<>();
    rows.forEachRemaining(all::add);
    assertRight(all);
    assertEquals(kept(), made(), "no map task ran twice");
  }

  @ParameterizedTest
  @MethodSource("modes")
  void anRddIsUsedAgain(Map<String, String> mode) throws InterruptedException {
    Dataset<Row> reblocked = underMode(mode, this::reblocked);
    JavaRDD<Row> rdd = reblocked.toJavaRDD();
    alive.add(rdd);
    long blocks = REBLOCKED.blockCount();
    assertEquals(blocks, rdd.count());
    assertEquals(made(), kept());
    assertEquals(blocks, rdd.count());
    Dataset<Row> over = spark.createDataFrame(rdd, reblocked.schema());
    assertRight(over);
    assertRight(over);
    assertEquals(kept(), made(), "no map task ran twice");
  }

  /** Partitions of a cache that get lost are computed from what the shuffle left. */
  @Tag("versions")
  @ParameterizedTest
  @MethodSource("modes")
  void whatFillsACacheStaysWithIt(Map<String, String> mode) throws InterruptedException {
    Dataset<Row> cached = underMode(mode, () -> reblocked().persist(StorageLevel.MEMORY_ONLY()));
    assertRight(cached);
    long filling = made();
    assertTrue(filling > 0);
    assertRight(MatrixBlocks.reblock(cached, 13, 17));
    long once = made();
    BlockManager blocks = SparkEnv.get().blockManager();
    blocks
        .getMatchingBlockIds(ScalaInterop.function(id -> ((BlockId) id).isRDD()))
        .foreach(
            ScalaInterop.function(
                id -> {
                  blocks.removeBlock((BlockId) id, true);
                  return null;
                }));
    assertRight(cached);
    assertEquals(once, made(), "map tasks ran again");
    assertEquals(filling, kept());
    cached.unpersist(true);
    assertEquals(0, kept());
    assertRight(cached);
    assertTrue(made() > once);
  }

  /** Of two caches, one computed from the other. */
  @ParameterizedTest
  @MethodSource("modes")
  void theLastCacheLetsGo(Map<String, String> mode) throws InterruptedException {
    Dataset<Row> first = underMode(mode, () -> reblocked().persist(StorageLevel.MEMORY_ONLY()));
    assertTrue(first.count() > 0);
    long filling = made();
    assertTrue(filling > 0);
    Dataset<Row> second = first.where("row >= 0").persist(StorageLevel.MEMORY_ONLY());
    assertRight(second);
    first.unpersist(true);
    assertEquals(filling, kept());
    assertRight(second);
    second.unpersist(true);
    assertEquals(0, kept());
  }

  /** A job outside the execution that needs it too, as well as the cache, keeps it for good. */
  @Test
  void anRddBesideACacheIsUsedAgain() throws InterruptedException {
    Dataset<Row> reblocked = reblocked();
    JavaRDD<Row> rdd = reblocked.toJavaRDD();
    alive.add(rdd);
    JavaRDD<Row> persisted = rdd.map(row -> row).persist(StorageLevel.MEMORY_ONLY());
    assertEquals(REBLOCKED.blockCount(), persisted.count());
    assertEquals(REBLOCKED.blockCount(), rdd.count());
    long once = made();
    persisted.unpersist(true);
    assertEquals(once, kept());
    assertEquals(REBLOCKED.blockCount(), rdd.count());
    assertEquals(once, made(), "map tasks ran again");
  }

  /** Shuffles above the cache end as usual. */
  @Test
  void shufflesOfCachedBlocksEnd() throws InterruptedException {
    Dataset<Row> cached = ARRAY.toDataFrame(spark, 3).drop("tag").cache();
    assertTrue(cached.count() > 0);
    assertRight(MatrixBlocks.reblock(cached, 13, 17));
    assertTrue(made() > 0);
    assertEquals(0, kept());
    cached.unpersist(true);
  }

  @Tag("versions")
  @ParameterizedTest
  @MethodSource("modes")
  void aFailedExecutionLeavesNothing(Map<String, String> mode) throws InterruptedException {
    with(
        mode,
        () ->
            assertFails(
                () -> reblocked().selectExpr("raise_error(concat('oh ', row))").collectAsList(),
                "oh "));
    assertTrue(made() > 0);
    assertEquals(0, kept());
  }

  @Tag("versions")
  @Test
  void checkpointsAndWritesEnd(@TempDir java.nio.file.Path directory) throws InterruptedException {
    spark.sparkContext().setCheckpointDir(directory.resolve("checkpoints").toString());
    Dataset<Row> checkpointed = reblocked().checkpoint();
    assertRight(checkpointed);
    String table = directory.resolve("table").toString();
    reblocked().write().parquet(table);
    assertRight(spark.read().schema(reblocked().schema()).parquet(table));
    assertTrue(made() > 0);
    assertEquals(0, kept());
    Dataset<Row> local = reblocked().localCheckpoint();
    alive.add(local);
    assertTrue(kept() > 0);
    assertRight(local);
  }

  /** Threads that run one plan at the same time read what others made, or make it again. */
  @Test
  void threadsShareAPlan() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      for (int round = 0; round < 5; round++) {
        Dataset<Row> reblocked = reblocked();
        List<Future<List<Row>>> results = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
          results.add(threads.submit(reblocked::collectAsList));
        }
        for (Future<List<Row>> result : results) {
          assertRight(result.get());
        }
      }
    } finally {
      threads.shutdown();
    }
  }
}
