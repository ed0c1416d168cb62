package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.runtime.ExecutorReports;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.TestArray;

/** Contexts that are started and stopped in one JVM, as notebooks do, leave nothing behind. */
@Tag("versions")
class TwoContextsTest {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void contextsOneAfterTheOtherLeaveNothing() {
    ChildJvm.Outcome outcome =
        ChildJvm.start(
                Driver.class.getName(),
                List.of(),
                List.of("-Xmx512m"),
                Map.of(),
                directory.resolve("driver.log"))
            .await(Duration.ofMinutes(10));
    assertEquals(0, outcome.exitCode(), outcome::output);
  }

  /** Three contexts; the first of them is stopped without its session. */
  static final class Driver {
    private Driver() {}

    /** What a context had, and nobody should have any more. */
    private static final List<WeakReference<Object>> GONE = new ArrayList<>();

    public static void main(String[] args) throws InterruptedException {
      for (int context = 0; context < 3; context++) {
        run(context);
        assertEquals(Optional.empty(), ExecutorReports.current());
        assertEquals(0, ownThreads(), "threads of ours");
      }
      // The last context's environment stays known to Spark until there is another.
      awaitGone(GONE.subList(0, GONE.size() / 3 * 2));
    }

    private static void run(int number) {
      SparkSession spark =
          SparkSession.builder()
              .master("local[2]")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.driver.host", "127.0.0.1")
              .config("spark.ui.port", "0")
              .config("spark.plugins", TileSparkPlugin.class.getName())
              .getOrCreate();
      TileShuffleManager manager = (TileShuffleManager) SparkEnv.get().shuffleManager();
      ExecutorRuntime runtime = ExecutorRuntime.current();
      StoreBudget budget = manager.outputs().budget();
      reblock(spark);
      assertTrue(manager.outputs().committed() > 0, "nothing was kept in memory");
      assertTrue(budget.peakBytes() > 0);
      GONE.addAll(List.of(new WeakReference<>(manager), new WeakReference<>(runtime)));
      if (number == 0) {
        spark.sparkContext().stop();
      } else {
        spark.stop();
      }
      assertNull(SparkEnv.get());
      assertEquals(0, budget.usedBytes());
      assertEquals(0, runtime.liveArrowBytes());
      assertEquals(0, runtime.keptHostBytes());
    }

    private static void reblock(SparkSession spark) {
      TestArray.matrix(ElementType.FLOAT32, 40, 60, 13, 17)
          .assertPermuted(
              Permutation.of(0, 1),
              MatrixBlocks.reblock(
                      TestArray.matrix(ElementType.FLOAT32, 40, 60, 10, 10)
                          .toDataFrame(spark, 2)
                          .drop("tag"),
                      13,
                      17)
                  .selectExpr("*", "cast(null AS STRING) AS tag"));
    }

    private static long ownThreads() {
      return Thread.getAllStackTraces().keySet().stream()
          .filter(thread -> thread.isAlive() && thread.getName().startsWith("tilespark"))
          .count();
    }

    private static void awaitGone(List<WeakReference<Object>> references)
        throws InterruptedException {
      for (int i = 0; i < 100 && references.stream().anyMatch(each -> each.get() != null); i++) {
        System.gc();
        TimeUnit.MILLISECONDS.sleep(100);
      }
      references.forEach(each -> assertNull(each.get()));
    }
  }
}
