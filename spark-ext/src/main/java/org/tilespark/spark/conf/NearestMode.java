package org.tilespark.spark.conf;

/** The planner of Spark's {@code NEAREST k BY}. */
public enum NearestMode {
  /** Products of vectors, if the ranking expression allows it; otherwise Spark. */
  AUTO,
  /** Spark, always. */
  OFF
}
