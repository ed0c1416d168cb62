package org.tilespark.spark.shuffle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.store.StoreBudget;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.rows.RetainableRows;
import org.tilespark.spark.runtime.ExecutorReports;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.TestArray;

/** Contexts that are started and stopped in one JVM, as notebooks do, release everything. */
class TwoContextsTest {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void contextsOneAfterTheOtherLeaveNothing() {
    ChildJvm.assertEndsWell(Driver.class, List.of(), directory);
  }

  /** Three contexts; the first of them is stopped without its session. */
  static final class Driver {
    private Driver() {}

    public static void main(String[] args) throws ReflectiveOperationException {
      for (int context = 0; context < 3; context++) {
        run(context);
        assertEquals(Optional.empty(), ExecutorReports.current());
        assertEquals(0, ownThreads(), "threads of ours");
        assertNull(staticField(ExecutorRuntime.class, "current"));
        assertEquals(Map.of(), staticField(RetainableRows.class, "OWNERS"));
      }
    }

    /** A static field, by which alone tasks of Spark reach an object. */
    private static Object staticField(Class<?> type, String name)
        throws ReflectiveOperationException {
      Field field = type.getDeclaredField(name);
      field.setAccessible(true);
      return field.get(null);
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
  }
}
