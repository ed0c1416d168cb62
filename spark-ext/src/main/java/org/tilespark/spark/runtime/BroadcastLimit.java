package org.tilespark.spark.runtime;

import org.apache.spark.SparkContext;
import org.tilespark.spark.conf.TileSparkConf;

/** Computes how many bytes may be broadcast if the user does not ask for a broadcast. Stateless. */
public final class BroadcastLimit {
  /** Broadcast data may take 1 / HEAP_SHARE of the heap. */
  private static final int HEAP_SHARE = 8;

  private BroadcastLimit() {}

  /**
   * The limit in bytes, by the session's configuration. The driver holds about three copies while
   * it collects and sends, every executor one or two, all in the Java heap.
   */
  public static long bytes(SparkContext context) {
    long driver = Runtime.getRuntime().maxMemory();
    long executor = context.isLocal() ? driver : (long) context.executorMemory() << 20;
    long collected = context.getConf().getSizeAsBytes("spark.driver.maxResultSize", "1g");
    return Math.min(
        TileSparkConf.MULTIPLY_BROADCAST_SIZE.read(TileSparkConf.session()),
        Math.min(
            Math.min(driver, executor) / HEAP_SHARE,
            collected == 0 ? Long.MAX_VALUE : collected / 2));
  }
}
