package org.tilespark.spark.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.tilespark.arrow.memory.HostMemorySource;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.cluster.ChildJvm;
import org.tilespark.spark.error.StoppedException;

/** The promises of an executor's runtime when its application stops. */
class StoppedApplicationTest {
  @TempDir(cleanup = CleanupMode.ON_SUCCESS)
  Path directory;

  @Test
  void staysStopped() {
    ChildJvm.assertEndsWell(Driver.class, List.of(), directory);
  }

  /** Stops two contexts, one after the other, and looks at the runtime of each. */
  static final class Driver {
    private Driver() {}

    public static void main(String[] args) throws Exception {
      ExecutorRuntime first = run();
      assertNotSame(first, run());
    }

    private static ExecutorRuntime run() throws Exception {
      SparkSession spark =
          SparkSession.builder()
              .master("local[2]")
              .config("spark.driver.bindAddress", "127.0.0.1")
              .config("spark.driver.host", "127.0.0.1")
              .config("spark.ui.enabled", "false")
              .config("spark.plugins", TileSparkPlugin.class.getName())
              .config("spark.tilespark.memory.storeSize", "16m")
              .getOrCreate();
      ExecutorRuntime runtime = ExecutorRuntime.current();
      assertSame(runtime, ExecutorRuntime.current());
      Kept kept = runtime.kept("a test", Kept::new);
      assertSame(kept, runtime.kept("a test", Kept::new));
      HostMemorySource.Allocation late = runtime.storeMemory().allocate(1 << 20);
      AutoCloseable task = runtime.use();
      SparkEnv env = SparkEnv.get();
      spark.stop();

      assertTrue(kept.isClosed);
      assertNull(SparkEnv.get());
      assertStopped(runtime);
      SparkEnv.set(env); // as a task sees it that still runs while Spark stops
      assertStopped(runtime);
      SparkEnv.set(null);

      // Who uses memory keeps it, and frees it.
      HostMemory.unsafe().setMemory(late.address(), 1 << 20, (byte) 1);
      assertEquals(2, users(runtime), "the allocation and the task");
      late.free();
      task.close();
      assertEquals(0, users(runtime));
      assertEquals(0, runtime.keptHostBytes());
      return runtime;
    }

    private static void assertStopped(ExecutorRuntime runtime) {
      assertThrows(StoppedException.class, ExecutorRuntime::current);
      assertThrows(StoppedException.class, () -> runtime.kept("another", Kept::new));
      assertThrows(StoppedException.class, () -> runtime.storeMemory().allocate(1));
      assertThrows(StoppedException.class, () -> runtime.memory().root().buffer(64));
      assertThrows(StoppedException.class, runtime::use);
    }

    private static int users(ExecutorRuntime runtime) throws ReflectiveOperationException {
      var uses = ExecutorRuntime.class.getDeclaredField("uses");
      uses.setAccessible(true);
      var users = uses.get(runtime).getClass().getDeclaredField("users");
      users.setAccessible(true);
      return ((Number) users.get(uses.get(runtime))).intValue();
    }
  }

  /**
   * A kept resource; while it is closed, a task comes and asks for the runtime and its resource.
   */
  private static final class Kept implements AutoCloseable {
    private final ExecutorRuntime runtime;
    private boolean isClosed;

    Kept(ExecutorRuntime runtime) {
      this.runtime = runtime;
    }

    @Override
    public void close() throws Exception {
      assertFalse(isClosed, "closed twice");
      isClosed = true;
      FutureTask<?> asks =
          new FutureTask<>(() -> ExecutorRuntime.current().kept("a test", Kept::new));
      new Thread(asks, "late task").start();
      Throwable thrown =
          assertThrows(ExecutionException.class, () -> asks.get(20, TimeUnit.SECONDS));
      assertEquals(StoppedException.class, thrown.getCause().getClass());
      assertThrows(StoppedException.class, runtime::use);
    }
  }
}
