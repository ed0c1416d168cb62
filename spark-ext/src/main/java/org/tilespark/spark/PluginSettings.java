package org.tilespark.spark;

import java.util.Arrays;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.cache.BlockCacheSerializer;
import org.tilespark.spark.catalyst.compat.SparkVersion;
import org.tilespark.spark.shuffle.TileShuffleManager;

/**
 * Settings that the plugin adds to an application's configuration. Spark starts plugins before it
 * reads these keys, and executors get the driver's configuration.
 */
final class PluginSettings {
  private static final Logger LOG = LoggerFactory.getLogger(PluginSettings.class);

  static final String EXTENSIONS = "spark.sql.extensions";
  static final String SHUFFLE_MANAGER = "spark.shuffle.manager";

  static final String CHECKSUM_ALGORITHM = "spark.shuffle.checksum.algorithm";

  private PluginSettings() {}

  /**
   * Adds our settings, and keeps those of the user. On an untested version of Spark, blocks use
   * Spark's own shuffle and cache: {@link SparkVersion#warnIfUntested} says so.
   *
   * @param sparkVersion version of the Spark that runs
   */
  static void add(SparkConf conf, String sparkVersion) {
    appendExtension(conf);
    if (SparkVersion.isTested(sparkVersion)) {
      nameShuffleManager(conf);
      BlockCacheSerializer.install(conf);
    }
  }

  /** Appends our extension after the user's extensions, so that these keep their order. */
  private static void appendExtension(SparkConf conf) {
    String ours = TileSparkExtensions.class.getName();
    String users = conf.get(EXTENSIONS, "").strip();
    if (users.isEmpty()) {
      conf.set(EXTENSIONS, ours);
    } else if (Arrays.stream(users.split(",", -1)).map(String::strip).noneMatch(ours::equals)) {
      conf.set(EXTENSIONS, users + "," + ours);
    }
  }

  private static void nameShuffleManager(SparkConf conf) {
    if (conf.contains(SHUFFLE_MANAGER)) {
      LOG.info(
          "Blocks go through the shuffle of {}={}", SHUFFLE_MANAGER, conf.get(SHUFFLE_MANAGER));
    } else {
      conf.set(SHUFFLE_MANAGER, TileShuffleManager.class.getName());
      // The parts of a shuffle file have this checksum already when the file is written.
      conf.setIfMissing(CHECKSUM_ALGORITHM, "CRC32C");
    }
  }
}
