package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;

/** A session opens its device without a query, and closes it whenever it stops. */
@RequiresGpu
class OpenAheadIT {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void theDeviceOpensWithoutAQuery() {
    ChildJvm.assertEndsWell(Driver.class, List.of(), directory);
  }

  /** Sessions without queries. */
  static final class Driver {
    private static final long LIMIT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private Driver() {}

    public static void main(String[] args) throws InterruptedException {
      for (int session = 0; session < 3; session++) {
        start().stop(); // at once
      }
      SparkSession spark = start();
      ExecutorRuntime runtime = ExecutorRuntime.current();
      long limit = runtime.deviceBytes();
      assertTrue(limit > 0);
      long end = System.nanoTime() + LIMIT_NANOS;
      while (runtime.gpus().isEmpty() || runtime.keptHostBytes() == 0) {
        assertTrue(System.nanoTime() < end, "no device, or no pinned memory");
        TimeUnit.MILLISECONDS.sleep(10);
      }
      Gpu gpu = runtime.gpus().get(0);
      assertEquals(1, runtime.gpus().size());
      // Planners ask the driver, tasks the open device.
      assertEquals((double) limit, (double) gpu.governor().limitBytes(), 0.02 * limit);
      spark.stop();
      assertEquals(0, gpu.device().livePinnedBytes());
      assertEquals(0, gpu.device().liveDeviceBytes());
      assertTrue(
          Thread.getAllStackTraces().keySet().stream()
              .noneMatch(thread -> thread.getName().startsWith("tilespark")));
    }

    private static SparkSession start() {
      return SparkSession.builder()
          .master("local[2]")
          .config("spark.driver.bindAddress", "127.0.0.1")
          .config("spark.driver.host", "127.0.0.1")
          .config("spark.ui.enabled", "false")
          .config("spark.plugins", TileSparkPlugin.class.getName())
          .getOrCreate();
    }
  }
}
