package org.tilespark.spark.runtime;

import java.lang.management.ManagementFactory;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.conf.TileSparkConf;

/** How much host memory outside the heap an executor keeps blocks in that outlive their task. */
public final class StoreSize {
  private static final Logger LOG = LoggerFactory.getLogger(StoreSize.class);

  private static final long LEAST_OVERHEAD_BYTES = 384L << 20; // Spark's own default
  private static final double OVERHEAD_FACTOR = 0.1; // the same
  private static final int PART_OF_MACHINE = 4;

  private StoreSize() {}

  /**
   * The bytes that the user set, or the default: on YARN and Kubernetes what the memory overhead
   * leaves beside {@value #LEAST_OVERHEAD_BYTES} bytes and the pool of the CPU or GPU; elsewhere a
   * quarter of the machine, or of the container, by the executor's share of its cores.
   */
  public static long bytes(SparkConf conf) {
    Optional<Long> set = TileSparkConf.STORE_SIZE.read(TileSparkConf.application(conf));
    if (set.isPresent()) {
      return set.get();
    }
    String master = conf.get("spark.master", "local");
    long bytes =
        master.startsWith("yarn") || master.startsWith("k8s") ? ofOverhead(conf) : ofMachine(conf);
    LOG.info(
        "Blocks between tasks are kept in up to {} MiB outside the Java heap, then in files;"
            + " {} sets it",
        bytes >> 20,
        TileSparkConf.STORE_SIZE.name());
    return bytes;
  }

  private static long ofOverhead(SparkConf conf) {
    long least = conf.getSizeAsBytes("spark.executor.minMemoryOverhead", LEAST_OVERHEAD_BYTES);
    double factor = conf.getDouble("spark.executor.memoryOverheadFactor", OVERHEAD_FACTOR);
    long byFactor = (long) (factor * conf.getSizeAsBytes("spark.executor.memory", "1g"));
    long overhead =
        conf.contains("spark.executor.memoryOverhead")
            ? conf.getSizeAsMb("spark.executor.memoryOverhead", "0m") << 20
            : Math.max(least, byFactor);
    long pool = TileSparkConf.HOST_POOL_SIZE.read(TileSparkConf.application(conf));
    return Math.max(0, overhead - LEAST_OVERHEAD_BYTES - pool);
  }

  private static long ofMachine(SparkConf conf) {
    int cores = Runtime.getRuntime().availableProcessors();
    int used = Math.min(cores, conf.getInt("spark.executor.cores", cores));
    var machine =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    return machine.getTotalMemorySize() / PART_OF_MACHINE / cores * used;
  }
}
