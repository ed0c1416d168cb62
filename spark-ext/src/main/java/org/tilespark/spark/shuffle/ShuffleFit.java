package org.tilespark.spark.shuffle;

import java.util.Optional;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.tilespark.spark.catalyst.ExchangeInput;
import org.tilespark.spark.catalyst.ScalaInterop;

/** Finds the shuffles that can be kept in memory. */
final class ShuffleFit {
  private static final String FILES = "spark.shuffle.sort.io.plugin.class";
  private static final String LOCAL_FILES =
      "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";

  /**
   * Spark's plugin that recovers files that a lost executor left on its volume; outputs in memory
   * have no files.
   */
  private static final String RECOVERED_FILES =
      "org.apache.spark.shuffle.KubernetesLocalDiskShuffleDataIO";

  private ShuffleFit() {}

  /** True if all shuffled rows come directly from our nodes. */
  static boolean isOfBlocks(ShuffleDependency<?, ?, ?> dependency) {
    RDD<?> keyed = dependency.rdd(); // Spark's step that finds each row's partition
    return dependency.getClass() == ShuffleDependency.class // Spark 4.3 has pipelined ones
        && keyed.dependencies().size() == 1
        && isMarked(keyed.dependencies().head())
        && dependency.serializer() instanceof UnsafeRowSerializer;
  }

  /** True for an {@link ExchangeInput}, the RDD of one of our nodes, and for a union of these. */
  private static boolean isMarked(Dependency<?> dependency) {
    if (dependency instanceof ShuffleDependency) {
      return false;
    }
    RDD<?> rows = dependency.rdd();
    if (rows instanceof ExchangeInput<?>) {
      return true;
    }
    // Checked by name, since Spark has several union classes and some versions lack some.
    return rows.getClass().getSimpleName().endsWith("UnionRDD")
        && rows.dependencies().nonEmpty()
        && ScalaInterop.<Dependency<?>>list(rows.dependencies()).stream()
            .allMatch(ShuffleFit::isMarked);
  }

  /** The reason why Spark's own shuffle must be used; empty if blocks can stay in memory. */
  static Optional<String> whyNotInMemory(ShuffleDependency<?, ?, ?> dependency, SparkConf conf) {
    if (dependency.aggregator().isDefined() || dependency.mapSideCombine()) {
      return Optional.of("it aggregates");
    }
    if (dependency.keyOrdering().isDefined()) {
      return Optional.of("it sorts");
    }
    return whyNotInMemory(conf);
  }

  /**
   * The reason why all shuffles of an application must be Spark's own, by its configuration; empty
   * if there is none.
   */
  static Optional<String> whyNotInMemory(SparkConf conf) {
    for (String key :
        new String[] {
          "spark.shuffle.push.enabled",
          "spark.shuffle.useOldFetchProtocol",
          "spark.io.encryption.enabled"
        }) {
      if (conf.getBoolean(key, false)) {
        return Optional.of(key + " is true");
      }
    }
    String files = conf.get(FILES, LOCAL_FILES);
    return files.equals(LOCAL_FILES) || files.equals(RECOVERED_FILES)
        ? Optional.empty()
        : Optional.of(FILES + " is " + files);
  }

  /**
   * True if each output goes to files when it is committed: executors may end at any time, and the
   * external shuffle service serves their files, or another executor recovers them.
   */
  static boolean filesOnly(SparkConf conf) {
    return (conf.getBoolean("spark.shuffle.service.enabled", false)
            && conf.getBoolean("spark.dynamicAllocation.enabled", false))
        || conf.get(FILES, LOCAL_FILES).equals(RECOVERED_FILES);
  }
}
