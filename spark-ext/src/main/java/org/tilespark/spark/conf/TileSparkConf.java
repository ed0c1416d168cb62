package org.tilespark.spark.conf;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.internal.SQLConf;
import org.tilespark.kernels.host.engine.HostEngine;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.spark.conf.ConfigKey.Reach;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;
import org.tilespark.spark.error.Suggestions;
import scala.Tuple2;

/**
 * Every configuration key of tilespark. {@code main} prints the table of docs/configuration.md.
 *
 * <p>Keys begin with {@code spark.tilespark.}, so they may stand in spark-defaults.conf, after
 * {@code --conf}, and (keys of reach session) in {@code SET}.
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
              + " where an executor has one; else the log says once, at level INFO, why it took the"
              + " CPU.");

  public static final ConfigKey<Long> BATCH_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.batchSize",
          "64m",
          1,
          Reach.SESSION,
          "Bytes of values that one batch of blocks holds; a block that is larger makes a batch of"
              + " its own, and goes through the GPU in slices of half this size. A task on the GPU"
              + " holds about four batches of host memory and as much device memory.");

  public static final ConfigKey<Long> MULTIPLY_TILE_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.multiplyTileSize",
          "1g",
          1,
          Reach.SESSION,
          "Bytes of the result that one task of a multiply may add up at a time, on the GPU or, on"
              + " the CPU, outside the Java heap; in addition a task holds panels of about"
              + " memory.batchSize, and the result once more where very many panels are added up."
              + " Results are cut into more tasks until each keeps to it, and so that as many as"
              + " gpu.concurrentTasks fit the device together.");

  public static final ConfigKey<Long> MULTIPLY_BROADCAST_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.multiplyBroadcastSize",
          "256m",
          0,
          Reach.SESSION,
          "Bytes up to which a multiply with strategy auto may send one matrix whole to every"
              + " executor, where that is cheaper than to shuffle both; 0 to never do it. An eighth"
              + " of the Java heap of the driver or of an executor, whichever is smaller, and half"
              + " of spark.driver.maxResultSize limit it too. Strategy broadcast is not limited.");

  public static final ConfigKey<Long> FOURIER_TASK_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "fourier.taskSize",
          "256m",
          0,
          Reach.SESSION,
          "Bytes of a volume's complex numbers up to which one task transforms all of it, where"
              + " it would have to be exchanged between tasks otherwise: that task reads the"
              + " partitions of the input one after another. 0 for never.");

  public static final ConfigKey<NearestMode> NEAREST =
      ConfigKey.ofEnum(
          PREFIX + "nearest",
          NearestMode.class,
          NearestMode.AUTO,
          Reach.SESSION,
          "Who plans Spark's NEAREST k BY (Spark 4.2 and later): auto compares vectors by products"
              + " where it ranks by a vector function of one column of each side, and EXPLAIN says"
              + " why not elsewhere; off leaves it to Spark.");

  public static final ConfigKey<Long> PINNED_POOL_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.pinnedPoolSize",
          "4g",
          0,
          Reach.EXECUTOR,
          "Bytes of pinned host memory that an executor with a GPU keeps for reuse. It is pinned in"
              + " slabs as tasks need it, of a sixteenth of what it may keep, for stores too, 1g at"
              + " most; what is needed beyond is released when it is no longer in use. It is memory"
              + " outside the Java heap: count it in spark.executor.memoryOverhead. The default is"
              + " lowered to a quarter of the budget that memory.storeSize names.");

  public static final ConfigKey<Long> HOST_POOL_SIZE =
      ConfigKey.ofBytes(
          PREFIX + "memory.hostPoolSize",
          "1g",
          0,
          Reach.EXECUTOR,
          "Bytes of plain host memory outside the Java heap that an executor keeps for reuse when"
              + " it computes on the CPU: about one batch for each of its tasks, and for each part"
              + " of complex blocks; for each task of a product its tile and panels. It is no"
              + " limit: what tasks need beyond is freed after use. Count it in"
              + " spark.executor.memoryOverhead. The default is lowered to a quarter of the budget"
              + " that memory.storeSize names.");

  public static final ConfigKey<ExchangeMode> EXCHANGE_MODE =
      ConfigKey.ofEnum(
          PREFIX + "exchange.mode",
          ExchangeMode.class,
          ExchangeMode.AUTO,
          Reach.SESSION,
          "How blocks and pieces go from task to task: auto keeps them in memory outside the Java"
              + " heap where the application's settings allow it, and needs the plugin; memory"
              + " fails with the reason where they do not; spark takes Spark's own shuffle.");

  public static final ConfigKey<CacheMode> CACHE_MODE =
      ConfigKey.ofEnum(
          PREFIX + "cache.mode",
          CacheMode.class,
          CacheMode.AUTO,
          Reach.DRIVER,
          "Where cached blocks are kept: auto keeps them outside the Java heap, where operators"
              + " read them in place, and on the heap where half of memory.storeSize is full;"
              + " it needs the plugin. spark takes Spark's own cache.");

  public static final ConfigKey<Optional<Long>> STORE_SIZE =
      ConfigKey.ofBytesOrAuto(
          PREFIX + "memory.storeSize",
          Reach.EXECUTOR,
          "Bytes of host memory outside the Java heap in which an executor keeps blocks between"
              + " tasks; what is beyond goes to files of Spark. Up to half of it holds cached"
              + " blocks. auto: what memory.hostPoolSize, and memory.pinnedPoolSize with a GPU,"
              + " leave of a budget: on YARN and Kubernetes spark.executor.memoryOverhead less"
              + " 384m (1g with a GPU), elsewhere a quarter of the machine's or container's"
              + " memory, by the executor's share of its cores, or half of what heap, Spark's"
              + " off-heap memory and Python workers leave of that, if it is more; never more"
              + " than they leave. Pools keep memory for blocks too that"
              + " this has in use at times. The log has the size.");

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
              + " that Spark starts another and runs the work there; needs the plugin. In local"
              + " mode the job fails and the process goes on without the device.");

  public static final ConfigKey<Integer> FAIL_EVERY_NTH_ALLOCATION =
      ConfigKey.ofInt(
          PREFIX + "gpu.failEveryNthAllocation",
          0,
          0,
          Reach.EXECUTOR,
          "For tests: one of every n requests for device memory is refused, so that the paths of"
              + " short memory are walked; 0 refuses none.");

  public static final ConfigKey<Integer> FAIL_EVERY_NTH_HOST_ALLOCATION =
      ConfigKey.ofInt(
          PREFIX + "memory.failEveryNthAllocation",
          0,
          0,
          Reach.EXECUTOR,
          "For tests: one of every n requests for host memory outside the Java heap, pinned or"
              + " plain, is refused, and the task fails; 0 refuses none.");

  public static final ConfigKey<Integer> CONCURRENT_TASKS =
      ConfigKey.ofInt(
          PREFIX + "gpu.concurrentTasks",
          16,
          1,
          Reach.EXECUTOR,
          "Tasks of one executor that may use the same GPU at the same time; more wait before their"
              + " first upload. Each holds about four batches of device memory.");

  public static final ConfigKey<List<Path>> LIBRARY_PATH =
      ConfigKey.ofDirectories(
          PREFIX + "gpu.libraryPath",
          "",
          Reach.EXECUTOR,
          "Where executors look for NVIDIA's cuBLAS, cuFFT and cuSOLVER when the system's loader"
              + " does not find them; their own kernels and the CPU serve where neither does.");

  public static final ConfigKey<MultiplyEngine> MULTIPLY_ENGINE =
      ConfigKey.ofEnum(
          PREFIX + "multiply.engine",
          MultiplyEngine.class,
          MultiplyEngine.AUTO,
          Reach.EXECUTOR,
          "Whose kernels multiply on the GPU: own takes this project's, cublas fails where cuBLAS"
              + " is not found, auto takes whichever is expected to be faster. Another engine may"
              + " round sums otherwise in the last bits; both keep to the bound that"
              + " docs/decisions/short-chains-of-sums.md states. Precisions below full need cuBLAS"
              + " on GPUs before compute capability 8.0.");

  public static final ConfigKey<List<Path>> CPU_LIBRARY_PATH =
      ConfigKey.ofDirectories(
          PREFIX + "cpu.libraryPath",
          "",
          Reach.EXECUTOR,
          "Where executors look for OpenBLAS when the system's loader does not find it: for"
              + " libopenblas.so.0 and for what numpy's wheels bring (site-packages/numpy.libs,"
              + " which Python's tilespark.configure names). Own kernels serve where it is"
              + " not found.");

  public static final ConfigKey<HostEngine> CPU_ENGINE =
      ConfigKey.ofEnum(
          PREFIX + "multiply.cpuEngine",
          HostEngine.class,
          HostEngine.AUTO,
          Reach.EXECUTOR,
          "Whose kernels multiply and factorize on the CPU: own takes Java's, openblas fails where"
              + " OpenBLAS is not found, auto takes OpenBLAS where it is found. Both keep to the"
              + " bound that docs/decisions/short-chains-of-sums.md states. With own an element's"
              + " bits are the same on all machines, however the matrices are cut; with OpenBLAS"
              + " the last bits may depend on both.");

  public static final ConfigKey<Duration> AUTOTUNE_BUDGET =
      ConfigKey.ofTime(
          PREFIX + "autotune.budget",
          "100ms",
          Reach.EXECUTOR,
          "Time for trying tile shapes when a device meets the first problem of a class (width,"
              + " alignment, about its extents) that comes with no measured choice; 0 tries none."
              + " For products that is also when own kernels or cuBLAS are chosen: before the first"
              + " product of the class, and for good, on this machine, by all processes that share"
              + " autotune.cacheDir, since either rounds sums in its own way; multiply.engine names"
              + " one for all machines.");

  public static final ConfigKey<String> AUTOTUNE_CACHE_DIR =
      ConfigKey.ofPath(
          PREFIX + "autotune.cacheDir",
          "",
          Reach.EXECUTOR,
          "Local directory where an executor keeps what it tuned, one file for each device model,"
              + " driver and version of tilespark; made if missing, used only if nobody else may"
              + " write to it. Empty for $XDG_CACHE_HOME/tilespark, else ~/.cache/tilespark.");

  public static final ConfigKey<Boolean> UI_ENABLED =
      ConfigKey.ofBoolean(
          PREFIX + "ui.enabled",
          true,
          Reach.DRIVER,
          "Shows the devices of all executors in a tab of Spark's web UI, where the plugin is on"
              + " and the application has that UI.");

  private TileSparkConf() {}

  /** All keys, in the order of the documentation. */
  public static List<ConfigKey<?>> all() {
    return List.of(
        BACKEND,
        BATCH_SIZE,
        MULTIPLY_TILE_SIZE,
        MULTIPLY_BROADCAST_SIZE,
        FOURIER_TASK_SIZE,
        NEAREST,
        PINNED_POOL_SIZE,
        HOST_POOL_SIZE,
        EXCHANGE_MODE,
        CACHE_MODE,
        STORE_SIZE,
        DEVICE_FRACTION,
        DEVICE_RESERVE,
        FAIL_EVERY_NTH_HOST_ALLOCATION,
        CONCURRENT_TASKS,
        EXIT_ON_LOST_DEVICE,
        FAIL_EVERY_NTH_ALLOCATION,
        LIBRARY_PATH,
        MULTIPLY_ENGINE,
        CPU_LIBRARY_PATH,
        CPU_ENGINE,
        AUTOTUNE_BUDGET,
        AUTOTUNE_CACHE_DIR,
        UI_ENABLED);
  }

  /** Looks up the text of a key in the active session's configuration. */
  public static UnaryOperator<String> session() {
    return session(SQLConf.get());
  }

  private static UnaryOperator<String> session(SQLConf conf) {
    return name -> conf.getConfString(name, null);
  }

  /** Looks up the text of a key in an application's configuration. */
  public static UnaryOperator<String> application(SparkConf conf) {
    return name -> conf.get(name, null);
  }

  /** All settings of an application: texts by keys. */
  public static Map<String, String> settings(SparkConf conf) {
    return Arrays.stream(conf.getAll()).collect(Collectors.toMap(Tuple2::_1, Tuple2::_2));
  }

  /**
   * Checks settings before they are used: each key that begins with {@code spark.tilespark.} must
   * be declared and have a value of its type.
   *
   * @throws InvalidInputException if a key is undeclared, or its value is not of its type
   */
  public static void check(Map<String, String> settings) {
    for (String name : settings.keySet()) {
      checked(name).ifPresent(key -> key.read(settings::get));
    }
  }

  /**
   * The key of this name.
   *
   * @return the key; empty if the name does not have our prefix
   * @throws InvalidInputException if the name has our prefix and is unknown
   */
  static Optional<ConfigKey<?>> checked(String name) {
    if (!name.regionMatches(true, 0, PREFIX, 0, PREFIX.length())) {
      return Optional.empty();
    }
    List<String> known = all().stream().map(ConfigKey::name).toList();
    int found = known.indexOf(name);
    if (found >= 0) {
      return Optional.of(all().get(found));
    }
    // If the user left out the group, as in spark.tilespark.batchSize, the last word of the name is
    // correct.
    String last = name.substring(name.lastIndexOf('.')).toLowerCase(Locale.ROOT);
    List<String> alike =
        known.stream().filter(key -> key.toLowerCase(Locale.ROOT).endsWith(last)).toList();
    throw new InvalidInputException(
        ErrorCondition.INVALID_ARGUMENT,
        name
            + " is no setting of tilespark"
            + Suggestions.didYouMean(name, alike.isEmpty() ? known : alike));
  }

  /** The documentation page, in Markdown. */
  public static String markdown() {
    StringBuilder page =
        new StringBuilder(
            """
            # Configuration

            Generated from `TileSparkConf` by `dev/generate-docs`. Keys of reach *session* may be
            changed with `SET` or `spark.conf.set` and hold for the queries planned after; keys of
            reach *executor* are read once per executor, those of reach *driver* once by the driver,
            both from the application's configuration, and `SET` refuses them. A size needs a unit
            (`64m`), except 0. A key that is not listed here, or a value of another type, is an
            error: when the application starts with the plugin, else in its first query.

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
          .append(key.reach().name().toLowerCase(Locale.ROOT))
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
