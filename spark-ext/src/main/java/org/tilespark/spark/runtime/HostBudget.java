package org.tilespark.spark.runtime;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.VMOption;
import java.lang.management.ManagementFactory;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.tilespark.spark.conf.ConfigKey;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Divides an executor's host memory outside the Java heap into pools, which keep memory for the
 * batches of tasks, and stores, which keep map outputs and cached blocks beyond their task. Without
 * user settings, all of them share one budget:
 *
 * <ul>
 *   <li>on YARN and Kubernetes the memory overhead minus {@link #restBytes}. Elsewhere take the
 *       executor's share of the machine or container, by its cores: the budget is a quarter of that
 *       share, or half of what the heap and the items below leave of it, if that is more;
 *   <li>at most the memory of the container, or of that share, minus the heap, Spark's off-heap
 *       memory, the memory of Python workers if it is stated, and {@link #restBytes}. So an
 *       executor of a resource profile with a smaller container has a smaller budget.
 * </ul>
 *
 * @param pinnedPoolBytes bytes of the pool of pinned memory; 0 without a device
 * @param storeBytes most bytes of stores; pools keep memory that stores have released
 */
record HostBudget(long pinnedPoolBytes, long plainPoolBytes, long storeBytes) {
  /** Least memory overhead, as by Spark's own default. */
  private static final long LEAST_OVERHEAD_BYTES = 384L << 20;

  /** Bytes of a JVM in addition to heap and pools; soak tests measured 313 to 383 MiB. */
  private static final long JVM_BYTES = 384L << 20;

  /**
   * Bytes of a JVM with CUDA's libraries and the driver's memory: soak tests measured 731 to 934
   * MiB.
   */
  private static final long JVM_AND_DRIVER_BYTES = 1L << 30;

  private static final double OVERHEAD_FACTOR = 0.1; // Spark's own default
  private static final int PART_OF_MACHINE = 4;
  private static final int PART_OF_REST = 2;
  private static final int POOLS_PART = 4;

  /**
   * The machine or container of an executor.
   *
   * @param memoryBytes memory of the machine, or the limit of the container
   * @param heapBytes maximum size of the Java heap
   */
  record Machine(long memoryBytes, int cores, long heapBytes) {
    /**
     * The machine of this process. Java knows the limits of control groups, version 1 and 2; {@code
     * -XX:MaxRAM} lowers them.
     */
    static Machine here() {
      var system =
          (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
      VMOption maxRam =
          ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).getVMOption("MaxRAM");
      long limit =
          maxRam.getOrigin() == VMOption.Origin.DEFAULT
              ? Long.MAX_VALUE
              : Long.parseUnsignedLong(maxRam.getValue());
      return new Machine(
          Math.min(limit, system.getTotalMemorySize()),
          Runtime.getRuntime().availableProcessors(),
          Runtime.getRuntime().maxMemory());
    }
  }

  /**
   * The division for an executor. User settings are taken unchanged.
   *
   * @param usesDevice true if the executor pins memory
   */
  static HostBudget of(SparkConf conf, boolean usesDevice, Machine machine) {
    UnaryOperator<String> settings = TileSparkConf.application(conf);
    long whole = Math.max(0, whole(conf, restBytes(usesDevice), machine));
    long pinned = usesDevice ? pool(TileSparkConf.PINNED_POOL_SIZE, settings, whole) : 0;
    long plain = pool(TileSparkConf.HOST_POOL_SIZE, settings, whole);
    long store =
        TileSparkConf.STORE_SIZE.read(settings).orElse(Math.max(0, whole - pinned - plain));
    return new HostBudget(pinned, plain, store);
  }

  /** A pool's default is at most a quarter of the budget. */
  private static long pool(ConfigKey<Long> key, UnaryOperator<String> settings, long whole) {
    long bytes = key.read(settings);
    return settings.apply(key.name()) == null ? Math.min(bytes, whole / POOLS_PART) : bytes;
  }

  /** Bytes that an executor needs in addition to its heap, pools and stores. */
  static long restBytes(boolean usesDevice) {
    return usesDevice ? JVM_AND_DRIVER_BYTES : JVM_BYTES;
  }

  /** Bytes of the whole budget; negative if other uses need more than there is. */
  private static long whole(SparkConf conf, long restBytes, Machine machine) {
    String master = conf.get("spark.master", "local");
    long taken = machine.heapBytes + offHeapBytes(conf) + pythonBytes(conf) + restBytes;
    if (master.startsWith("yarn") || master.startsWith("k8s")) {
      return Math.min(overheadBytes(conf) - restBytes, machine.memoryBytes - taken);
    }
    int used = Math.min(machine.cores, conf.getInt("spark.executor.cores", machine.cores));
    long share = machine.memoryBytes / machine.cores * used;
    long left = share - taken;
    return Math.min(Math.max(share / PART_OF_MACHINE, left / PART_OF_REST), left);
  }

  private static long offHeapBytes(SparkConf conf) {
    return conf.getBoolean("spark.memory.offHeap.enabled", false)
        ? conf.getSizeAsBytes("spark.memory.offHeap.size", "0")
        : 0;
  }

  /** Bytes of the Python workers of an executor, together. */
  private static long pythonBytes(SparkConf conf) {
    return conf.getSizeAsMb("spark.executor.pyspark.memory", "0m") << 20;
  }

  private static long overheadBytes(SparkConf conf) {
    long least = conf.getSizeAsBytes("spark.executor.minMemoryOverhead", LEAST_OVERHEAD_BYTES);
    double factor = conf.getDouble("spark.executor.memoryOverheadFactor", OVERHEAD_FACTOR);
    long byFactor = (long) (factor * conf.getSizeAsBytes("spark.executor.memory", "1g"));
    return conf.contains("spark.executor.memoryOverhead")
        ? conf.getSizeAsMb("spark.executor.memoryOverhead", "0m") << 20
        : Math.max(least, byFactor);
  }

  /** The sizes of pools and stores in words, each with the key that sets it. */
  String summary() {
    return "up to %d MiB outside the Java heap for blocks between tasks and cached blocks, which then"
            .formatted(storeBytes >> 20)
        + " go to files (%s); for tasks %d MiB plain (%s) and %d MiB pinned (%s)"
            .formatted(
                TileSparkConf.STORE_SIZE.name(),
                plainPoolBytes >> 20,
                TileSparkConf.HOST_POOL_SIZE.name(),
                pinnedPoolBytes >> 20,
                TileSparkConf.PINNED_POOL_SIZE.name());
  }
}
