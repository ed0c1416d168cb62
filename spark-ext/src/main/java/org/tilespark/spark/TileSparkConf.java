package org.tilespark.spark;

import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.internal.SQLConf;
import org.tilespark.spark.ConfigKey.Reach;
import org.tilespark.spark.planner.Backend;

/**
 * Every configuration key of tilespark. {@code main} prints the table of docs/configuration.md.
 *
 * <p>Keys begin with {@code spark.tilespark.}, so they may stand in spark-defaults.conf, behind
 * {@code --conf}, and (those of reach session) in {@code SET}.
 */
public final class TileSparkConf {
  private static final String PREFIX = "spark.tilespark.";

  public static final ConfigKey<Backend> BACKEND =
      ConfigKey.ofEnum(
          PREFIX + "backend",
          Backend.class,
          Backend.AUTO,
          Reach.SESSION,
          "Who computes: gpu fails where there is none, cpu never touches one, auto takes the GPU"
              + " where an executor has one and else says once in the log why it took the CPU.");

  public static final ConfigKey<Long> BATCH_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.batchSize",
          "64m",
          1,
          Reach.SESSION,
          "Bytes of values that one batch of blocks holds; a block that is larger makes a batch of"
              + " its own. A task on the GPU holds about four batches of host memory and as much"
              + " device memory.");

  public static final ConfigKey<Long> PINNED_POOL_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.pinnedPoolSize",
          "4g",
          0,
          Reach.EXECUTOR,
          "Bytes of pinned host memory that an executor with a GPU keeps for reuse; what is needed"
              + " beyond is pinned and released as it goes. It is memory outside the Java heap:"
              + " count it in spark.executor.memoryOverhead.");

  public static final ConfigKey<Long> HOST_POOL_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.hostPoolSize",
          "1g",
          0,
          Reach.EXECUTOR,
          "Bytes of plain host memory outside the Java heap that an executor keeps for reuse when it"
              + " computes on the CPU: about one batch for each of its tasks, and for each part of"
              + " complex blocks. Count it in spark.executor.memoryOverhead.");

  public static final ConfigKey<Double> DEVICE_FRACTION =
      ConfigKey.ofFraction(
          PREFIX + "memory.deviceFraction",
          0.8,
          Reach.EXECUTOR,
          "Fraction of a device's memory that the tasks of one executor may hold together, after"
              + " memory.deviceReserve. Lower it where executors or programs share a device.");

  public static final ConfigKey<Long> DEVICE_RESERVE =
      ConfigKey.ofBytes(
          PREFIX + "memory.deviceReserve",
          "640m",
          0,
          Reach.EXECUTOR,
          "Bytes of a device's memory left for the driver's own context and kernels.");

  public static final ConfigKey<Boolean> EXIT_ON_LOST_DEVICE =
      ConfigKey.ofBoolean(
          PREFIX + "gpu.exitOnLostDevice",
          true,
          Reach.EXECUTOR,
          "After a CUDA error that no later call of the process can get past, end the executor, so"
              + " that Spark starts another and runs the work there; needs the plugin. In local mode"
              + " the job fails and the process goes on without the device.");

  public static final ConfigKey<Integer> FAIL_EVERY_NTH_ALLOCATION =
      ConfigKey.ofInt(
          PREFIX + "gpu.failEveryNthAllocation",
          0,
          0,
          Reach.EXECUTOR,
          "For tests: one of every n requests for device memory is refused, so that the paths of"
              + " short memory are walked; 0 refuses none.");

  public static final ConfigKey<Integer> CONCURRENT_TASKS =
      ConfigKey.ofInt(
          PREFIX + "gpu.concurrentTasks",
          16,
          1,
          Reach.EXECUTOR,
          "Tasks of one executor that may use the GPU at the same time; more wait before their"
              + " first upload. Each holds about four batches of device memory.");

  private TileSparkConf() {}

  /** All keys, in the order of the documentation. */
  public static List<ConfigKey<?>> all() {
    return List.of(
        BACKEND,
        BATCH_SIZE,
        PINNED_POOL_SIZE,
        HOST_POOL_SIZE,
        DEVICE_FRACTION,
        DEVICE_RESERVE,
        CONCURRENT_TASKS,
        EXIT_ON_LOST_DEVICE,
        FAIL_EVERY_NTH_ALLOCATION);
  }

  /** Looks keys up in the active session's configuration. */
  public static UnaryOperator<String> session() {
    SQLConf conf = SQLConf.get();
    return name -> conf.getConfString(name, null);
  }

  /** Looks keys up in an application's configuration. */
  public static UnaryOperator<String> application(SparkConf conf) {
    return name -> conf.get(name, null);
  }

  /** The documentation page, in Markdown. */
  public static String markdown() {
    StringBuilder page =
        new StringBuilder(
            """
            # Configuration

            Generated from `TileSparkConf` by `dev/generate-docs`. Keys of reach *session* may be
            changed with `SET` or `spark.conf.set` and hold for the queries planned after; keys of
            reach *executor* are read once per executor, from the application's configuration.

            | key | type | default | reach | meaning |
            |---|---|---|---|---|
            """);
    for (ConfigKey<?> key : all()) {
      page.append("| `")
          .append(key.name())
          .append("` | ")
          .append(key.type().replace("|", "\\|"))
          .append(" | `")
          .append(key.defaultText())
          .append("` | ")
          .append(key.reach() == Reach.SESSION ? "session" : "executor")
          .append(" | ")
          .append(key.doc())
          .append(" |\n");
    }
    return page.toString();
  }

  /** Prints {@link #markdown()}. */
  public static void main(String[] args) {
    System.out.print(markdown());
  }
}
