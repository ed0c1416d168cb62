package org.tilespark.bench.spark;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.SparkSession;

/**
 * Waits for Spark's events to listeners, which come on a thread of their own, after the work is
 * done.
 */
final class ListenerEvents {
  private static final long LIMIT_MILLIS = TimeUnit.MINUTES.toMillis(5);

  private ListenerEvents() {}

  /**
   * Waits until the listeners have been told all that happened so far.
   *
   * @throws IllegalStateException if that takes minutes
   */
  static void await(SparkSession spark) {
    try {
      spark.sparkContext().listenerBus().waitUntilEmpty(LIMIT_MILLIS);
    } catch (TimeoutException e) {
      throw new IllegalStateException("Spark's listeners are minutes behind", e);
    }
  }
}
