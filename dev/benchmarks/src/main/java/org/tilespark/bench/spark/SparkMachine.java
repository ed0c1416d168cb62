package org.tilespark.bench.spark;

import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.tilespark.examples.JobArguments;
import org.tilespark.examples.JobReport;
import org.tilespark.spark.runtime.Gpu;

/** Describes machine and software for a benchmark's output. */
final class SparkMachine {
  private SparkMachine() {}

  /**
   * Lists device, Spark master, cores, heap, versions, the {@code --commit} option and the date.
   */
  static String describe(SparkSession spark, Optional<Gpu> gpu, JobArguments arguments) {
    return String.format(
        Locale.ROOT,
        "%s, %s, %d cores, heap of this JVM %.1f GiB, Spark %s, Java %s, commit %s, %s",
        gpu.map(found -> found.device().description()).orElse("no GPU"),
        spark.sparkContext().master(),
        spark.sparkContext().defaultParallelism(),
        Runtime.getRuntime().maxMemory() / (double) (1L << 30),
        spark.version(),
        System.getProperty("java.version"),
        arguments.option("commit").orElse("unknown"),
        LocalDate.now(ZoneOffset.UTC));
  }

  /** Reports the size of the cached blocks and where they are stored. */
  static void reportCache(SparkSession spark, JobReport report) {
    for (var cached : spark.sparkContext().getRDDStorageInfo()) {
      report.line(
          "cache",
          "%d of %d partitions, %.2f GiB in memory, %.2f GiB on disk",
          cached.numCachedPartitions(),
          cached.numPartitions(),
          cached.memSize() / (double) (1L << 30),
          cached.diskSize() / (double) (1L << 30));
    }
  }
}
