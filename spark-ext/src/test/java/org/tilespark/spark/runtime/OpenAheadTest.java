package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.MatrixBlocks;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.testing.TestArray;

/** The threads that wait while a device is looked for, and those that do not. */
class OpenAheadTest {
  /** Held by a test, it keeps {@code DeviceProbe} from coming to an end. */
  private static final String PROBES_LOCK = "org.tilespark.kernels.device.driver.NativeLibraries";

  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void sessionsDoNotWaitForTheDeviceAndQueriesDo() {
    assertEndsWell("query");
  }

  @Test
  void aStopWaitsForTheLookThatIsUnderWay() {
    assertEndsWell("stop");
  }

  private void assertEndsWell(String what) {
    ChildJvm.assertEndsWell(Driver.class, List.of(what), directory);
  }

  /** Starts while the look for a device cannot come to an end. */
  static final class Driver {
    private Driver() {}

    public static void main(String[] args) throws Exception {
      CountDownLatch held = new CountDownLatch(1);
      CountDownLatch goesOn = new CountDownLatch(1);
      new Thread(() -> hold(held, goesOn), "holder").start();
      assertTrue(held.await(60, TimeUnit.SECONDS));
      SparkSession spark = start(); // would never return if it waited
      FutureTask<Void> waits = begin(args[0].equals("stop") ? spark::stop : () -> query(spark));
      assertThrows(TimeoutException.class, () -> waits.get(2, TimeUnit.SECONDS));
      goesOn.countDown();
      waits.get(2, TimeUnit.MINUTES);
      spark.stop();
      assertTrue(
          Thread.getAllStackTraces().keySet().stream()
              .noneMatch(thread -> thread.getName().startsWith("tilespark")));
    }

    private static void hold(CountDownLatch held, CountDownLatch goesOn) {
      try {
        synchronized (Class.forName(PROBES_LOCK)) {
          held.countDown();
          goesOn.await();
        }
      } catch (ReflectiveOperationException | InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    private static FutureTask<Void> begin(Runnable work) {
      FutureTask<Void> task = new FutureTask<>(work, null);
      new Thread(task, "waits").start();
      return task;
    }

    private static void query(SparkSession spark) {
      TestArray array = TestArray.matrix(ElementType.FLOAT32, 40, 60, 10, 10);
      array.assertPermuted(
          Permutation.of(1, 0), MatrixBlocks.transpose(array.toDataFrame(spark, 2)));
    }

    private static SparkSession start() {
      return SparkSession.builder()
          .master("local[2]")
          .config("spark.driver.bindAddress", "127.0.0.1")
          .config("spark.driver.host", "127.0.0.1")
          .config("spark.ui.enabled", "false")
          .config("spark.plugins", TileSparkPlugin.class.getName())
          .config("spark.tilespark.memory.storeSize", "16m")
          .getOrCreate();
    }
  }
}
