package org.tilespark.spark.runtime;

import java.util.Locale;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkConf;
import org.tilespark.spark.conf.TileSparkConf;

/** The log line that summarises tilespark's settings and devices in an application. Stateless. */
public final class SessionLine {
  /** The key of the class that serializes Spark's cache. */
  private static final String CACHE_SERIALIZER = "spark.sql.cache.serializer";

  private static final String SHUFFLE_MANAGER = "spark.shuffle.manager";

  private SessionLine() {}

  /** The line of a cluster's driver, before an executor has started. */
  public static String ofDriver(SparkConf conf) {
    return of(conf, "as executors report them", "in each executor's log");
  }

  /** The line of an executor, or of local mode. */
  static String of(SparkConf conf, String devices, String memory) {
    UnaryOperator<String> settings = TileSparkConf.application(conf);
    return "tilespark has backend=%s; devices: %s; exchange.mode=%s, %s; cache.mode=%s, %s; memory: %s"
        .formatted(
            word(TileSparkConf.BACKEND.read(settings)),
            devices,
            word(TileSparkConf.EXCHANGE_MODE.read(settings)),
            whose(conf, SHUFFLE_MANAGER),
            word(TileSparkConf.CACHE_MODE.read(settings)),
            whose(conf, CACHE_SERIALIZER),
            memory);
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** The text {@code by} and the class that a key names, without its package. */
  private static String whose(SparkConf conf, String key) {
    String name = conf.get(key, "Spark's default");
    return "by " + name.substring(name.lastIndexOf('.') + 1);
  }
}
