package org.tilespark.spark.npy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.ExecutorRuntime;

/** A small local Spark, and the check that a test class left no Arrow bytes behind. */
public final class TestSession {
  private TestSession() {}

  /** A session of two local cores. */
  public static SparkSession open() {
    return SparkSession.builder()
        .master("local[2]")
        .appName("tilespark tests")
        .config("spark.ui.enabled", false)
        .config("spark.sql.shuffle.partitions", 4)
        .config("spark.sql.warehouse.dir", System.getProperty("java.io.tmpdir") + "/warehouse")
        .getOrCreate();
  }

  /** Stops the session; fails if Arrow memory is alive. */
  public static void close(SparkSession spark) {
    long alive = ExecutorRuntime.current().memory().allocatedBytes();
    spark.stop();
    SparkSession.clearActiveSession();
    SparkSession.clearDefaultSession();
    assertEquals(0, alive, "Arrow bytes alive");
  }
}
