package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.BlockManagerId$;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.RetainedRows;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestArray;

/** Tasks that end in the middle, or fail in it, hold no output of a map task afterwards. */
class TileShuffleReaderTest extends SparkTest {
  private static final int ROWS = 36 + 36; // pieces and marks
  private static final String UNDER_WAY = "spark.reducer.maxSizeInFlight";

  private static Iterator<InternalRow> leftOver; // of a task that has ended

  private final SparkConf conf = SparkEnv.get().conf();

  private static TileShuffleResolver outputs() {
    return ((TileShuffleManager) SparkEnv.get().shuffleManager()).outputs();
  }

  /** Rows of six map tasks in one partition; the map tasks have run. */
  private JavaRDD<InternalRow> exchanged() {
    JavaRDD<InternalRow> rows =
        PlanNodes.all(
                plan(MatrixBlocks.reblock(
                        TestArray.matrix(ElementType.FLOAT32, 120, 90, 20, 15)
                            .toDataFrame(spark, 6)
                            .drop("tag"),
                        20,
                        15))
                    .executedPlan(),
                ShuffleExchangeExec.class)
            .get(0)
            .execute()
            .toJavaRDD();
    assertEquals(ROWS, rows.count());
    return rows;
  }

  private static int lastShuffle() {
    return TileShuffleManager.served().get(0).shuffleId();
  }

  /** Shuffles of other tests' cached frames stay until Spark's cleaner comes. */
  private long heldBefore;

  @BeforeEach
  void rememberWhatIsHeld() {
    heldBefore = outputs().budget().usedBytes();
  }

  /** The shuffle ends; then no byte of it may be held. */
  @AfterEach
  void nothingIsHeld() throws InterruptedException {
    awaitNoTasks();
    outputs().forget(lastShuffle());
    for (int i = 0; i < 500 && outputs().budget().usedBytes() > heldBefore; i++) {
      Thread.sleep(10); // a network thread frees what it has sent
    }
    assertTrue(outputs().budget().usedBytes() <= heldBefore);
  }

  private static void plainly(Runnable body) {
    with(Map.of("spark.sql.adaptive.enabled", "false", "spark.sql.shuffle.partitions", "1"), body);
  }

  @Test
  void aThreadThatOutlivesItsTaskReadsNoMore() {
    plainly(
        () -> {
          List<Integer> first =
              exchanged()
                  .mapPartitions(
                      rows -> {
                        rows.next();
                        leftOver = rows;
                        return List.of(1).iterator();
                      })
                  .collect();
          assertEquals(List.of(1), first);
          IllegalStateException late =
              assertThrows(IllegalStateException.class, () -> leftOver.forEachRemaining(row -> {}));
          assertEquals(
              "Rows of shuffle " + lastShuffle() + " are read after their task has ended",
              late.getMessage());
        });
  }

  /** Half of the outputs come over the network, from this process. */
  @Test
  void rowsThatCannotBeKeptAreReadAsBefore() {
    plainly(
        () -> {
          JavaRDD<InternalRow> exchanged = exchanged();
          moveOutputs(lastShuffle());
          conf.set(UNDER_WAY, "1k"); // not all are asked for when the task begins
          try {
            List<Integer> counts =
                exchanged.mapPartitions(TileShuffleReaderTest::countAfterFailure).collect();
            assertEquals(List.of(ROWS), counts);
          } finally {
            conf.remove(UNDER_WAY);
          }
        });
  }

  private static void moveOutputs(int shuffle) {
    MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
    BlockManagerId here = SparkEnv.get().blockManager().blockManagerId();
    BlockManagerId other =
        BlockManagerId$.MODULE$.apply("other", here.host(), here.port(), ScalaInterop.none());
    MapStatus[] maps = ScalaInterop.javaMap(tracker.shuffleStatuses()).get(shuffle).mapStatuses();
    for (int i = 0; i < maps.length; i += 2) {
      tracker.updateMapOutput(shuffle, maps[i].mapId(), other);
    }
  }

  private static Iterator<Integer> countAfterFailure(Iterator<InternalRow> rows) {
    InternalRow first = rows.next();
    StoreBudget budget = outputs().budget();
    long rest = budget.limitBytes() - budget.usedBytes();
    assertTrue(budget.take(rest));
    budget.evictsWith(
        missing -> {
          throw new IllegalStateException("evicted on purpose");
        });
    try {
      assertThrows(IllegalStateException.class, () -> new RetainedRows().retains(first));
    } finally {
      budget.giveBack(rest);
      budget.evictsWith(
          missing -> outputs().news().hearAgain() || outputs().store().evict(missing));
    }
    int count = 1;
    for (; rows.hasNext(); rows.next()) {
      count++;
    }
    return List.of(count).iterator();
  }
}
