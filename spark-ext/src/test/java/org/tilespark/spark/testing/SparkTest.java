package org.tilespark.spark.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkException;
import org.apache.spark.SparkExecutorInfo;
import org.apache.spark.SparkStatusTracker;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.function.Executable;
import org.tilespark.kernels.InTurn;
import org.tilespark.kernels.Sampling;
import org.tilespark.spark.TileSparkExtensions;
import org.tilespark.spark.TileSparkPlugin;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.error.TileSparkThrowable;
import org.tilespark.spark.runtime.ExecutorRuntime;
import scala.Option;

/**
 * Base of the tests that need Spark: one session for the whole test run, and a check at the end of
 * every class that no Arrow, pinned or device byte is alive.
 */
@InTurn
public abstract class SparkTest {
  /** Part of the message of adaptive execution for stages that fail at the same time. */
  private static final String FAILED_TOGETHER = "in stage materialization";

  /** How often each test method asked for {@link #sampledModes}. */
  private static final Map<String, Integer> CALLS = new ConcurrentHashMap<>();

  protected static SparkSession spark;

  @BeforeAll
  public static void startSpark() {
    spark = session();
  }

  private static synchronized SparkSession session() {
    String backend = System.getProperty("tilespark.test.backend", "auto");
    Path scratch = Path.of(System.getProperty("java.io.tmpdir"));
    return SparkSession.builder()
        .master("local[4]")
        .appName("tilespark tests")
        .config("spark.ui.port", "0")
        .config("spark.log.level", "WARN")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", scratch.resolve("warehouse").toUri().toString())
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.extensions", TileSparkExtensions.class.getName())
        .config("spark.plugins", TileSparkPlugin.class.getName())
        .config(TileSparkConf.BACKEND.name(), backend)
        // The same bits on all machines.
        .config(TileSparkConf.CPU_ENGINE.name(), "own")
        .config(TileSparkConf.FAIL_EVERY_NTH_ALLOCATION.name(), "7")
        .config(TileSparkConf.AUTOTUNE_CACHE_DIR.name(), scratch.resolve("tilings").toString())
        .getOrCreate();
  }

  /** Blocks whose metadata is that of others, and so may be stale. */
  protected static Dataset<Row> saying(Dataset<Row> blocks, Dataset<Row> others) {
    return blocks.withMetadata("values", others.schema().apply("values").metadata());
  }

  /** Waits until no task runs: those of a query that failed or was cut short may go on. */
  protected static void awaitNoTasks() throws InterruptedException {
    int running = -1;
    for (int i = 0; i < 1200 && running != 0; i++) {
      if (i > 0) {
        Thread.sleep(50);
      }
      SparkStatusTracker tracker = spark.sparkContext().statusTracker();
      try {
        spark.sparkContext().listenerBus().waitUntilEmpty(300_000);
      } catch (TimeoutException e) {
        throw new IllegalStateException("Spark's listeners are far behind", e);
      }
      running = tracker.getActiveJobIds().length;
      for (SparkExecutorInfo executor : tracker.getExecutorInfos()) {
        running += executor.numRunningTasks();
      }
    }
    assertEquals(0, running, "jobs and tasks that go on");
  }

  /** Runs a query, and counts what Spark does for it. */
  protected static Work workOf(Runnable query) throws InterruptedException {
    Work.Counter counter = new Work.Counter();
    awaitNoTasks();
    spark.sparkContext().addSparkListener(counter);
    try {
      query.run();
      awaitNoTasks();
    } finally {
      spark.sparkContext().removeSparkListener(counter);
    }
    return counter.counted();
  }

  @AfterAll
  public static void nothingIsAlive() throws InterruptedException {
    awaitNoTasks();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    // A task that is told of no more may still be ending.
    for (int i = 0; i < 1200 && runtime.liveArrowBytes() + runtime.liveDeviceBytes() > 0; i++) {
      Thread.sleep(50);
    }
    assertEquals(0, runtime.liveArrowBytes(), "Arrow bytes alive after the class");
    assertEquals(0, runtime.liveDeviceBytes(), "device bytes alive after the class");
    assertEquals(0, runtime.turns().held(), "tasks that still hold a turn on the device");
  }

  /** The counts of this process so far, at once and exactly; the UI hears of them later. */
  protected static MetricRegistry executorMetrics() {
    var sources =
        ScalaInterop.<Source>list(
            SparkEnv.get()
                .metricsSystem()
                .getSourcesByName("plugin." + TileSparkPlugin.class.getName()));
    assertEquals(1, sources.size());
    return sources.get(0).metricRegistry();
  }

  /** Runs {@code body} with session settings changed, and restores them. */
  protected static void with(Map<String, String> settings, Runnable body) {
    Map<String, Option<String>> before = new HashMap<>();
    settings.keySet().forEach(key -> before.put(key, spark.conf().getOption(key)));
    try {
      settings.forEach((key, value) -> spark.conf().set(key, value));
      body.run();
    } catch (Error | RuntimeException e) {
      e.addSuppressed(new IllegalStateException("failed under " + settings));
      throw e;
    } finally {
      before.forEach(
          (key, value) -> {
            if (value.isDefined()) {
              spark.conf().set(key, value.get());
            } else {
              spark.conf().unset(key);
            }
          });
    }
  }

  /**
   * Adaptive execution and whole-stage code generation, both on and both off; with {@code -Pfull}
   * all four combinations.
   */
  protected static List<Map<String, String>> executionModes() {
    return Sampling.FULL
        ? List.of(mode(true, true), mode(true, false), mode(false, true), mode(false, false))
        : List.of(mode(true, true), mode(false, false));
  }

  /**
   * One of {@link #executionModes}: each call of a test method gets the next, whatever ran before
   * it; with {@code -Pfull} all.
   */
  protected static List<Map<String, String>> sampledModes() {
    List<Map<String, String>> modes = executionModes();
    if (Sampling.FULL) {
      return modes;
    }
    String caller =
        StackWalker.getInstance()
            .walk(frames -> frames.skip(1).findFirst())
            .map(frame -> frame.getClassName() + '.' + frame.getMethodName())
            .orElseThrow();
    int call = CALLS.merge(caller, 1, Integer::sum);
    return List.of(modes.get(Math.floorMod(caller.hashCode() + call, modes.size())));
  }

  private static Map<String, String> mode(boolean adaptive, boolean codegen) {
    return Map.of(
        "spark.sql.adaptive.enabled", Boolean.toString(adaptive),
        "spark.sql.codegen.wholeStage", Boolean.toString(codegen),
        "spark.sql.codegen.factoryMode", codegen ? "CODEGEN_ONLY" : "NO_CODEGEN");
  }

  /** The plans of a query. */
  public static QueryExecution plan(Dataset<Row> df) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) df).queryExecution();
  }

  /** A DataFrame over the plan that {@code f} makes of this one's. */
  public static Dataset<Row> mapped(Dataset<Row> df, UnaryOperator<LogicalPlan> f) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        (org.apache.spark.sql.classic.SparkSession) df.sparkSession(), f.apply(plan(df).logical()));
  }

  /** The text of EXPLAIN. */
  public static String explained(Dataset<Row> df) {
    return plan(df).toString();
  }

  /** The optimized logical plan, as text. */
  protected static String optimized(Dataset<Row> df) {
    return plan(df).optimizedPlan().toString();
  }

  /** Runs it, and gives the reason of the exception of ours that it throws for wrong input. */
  protected static String reasonOf(Executable body) {
    Throwable thrown = assertThrows(Exception.class, body);
    if (thrown instanceof SparkException && thrown.getMessage().contains(FAILED_TOGETHER)) {
      thrown = thrown.getCause();
    }
    String said = thrown + ", because of " + thrown.getCause();
    TileSparkThrowable ours = assertInstanceOf(TileSparkThrowable.class, thrown, said);
    assertTrue(ours.condition().isWrongInput(), ours::toString);
    return ours.reason();
  }

  /** Its rows now, which are no cache and need no exchange to be read. */
  protected static Dataset<Row> localRows(Dataset<Row> df) {
    return spark.createDataFrame(df.collectAsList(), df.schema());
  }

  /** Runs it, and asserts that the failure's chain of causes says all of {@code parts}. */
  protected static void assertFails(Executable body, String... parts) {
    Throwable thrown = assertThrows(Throwable.class, body);
    StringBuilder messages = new StringBuilder();
    for (Throwable t = thrown; t != null; t = t.getCause()) {
      messages.append(t.getMessage()).append('\n');
    }
    for (String part : parts) {
      assertTrue(
          messages.toString().contains(part), () -> "expected '" + part + "' in: " + messages);
    }
  }
}
