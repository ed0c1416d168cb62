package org.tilespark.bench.spark;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.SparkSession;

/** Waits for Spark's listener events, which arrive asynchronously, after a query has returned. */
final class ListenerEvents {
  private static final long LIMIT_MILLIS = TimeUnit.MINUTES.toMillis(5);

  private ListenerEvents() {}

  /**
   * Waits until listeners have received all events so far.
   *
   * @throws IllegalStateException if that takes more than five minutes
   */
  static void await(SparkSession spark) {
    try {
      spark.sparkContext().listenerBus().waitUntilEmpty(LIMIT_MILLIS);
    } catch (TimeoutException e) {
      throw new IllegalStateException("Spark's listeners are minutes behind", e);
    }
  }
}
