package org.tilespark.spark.conf;

/** The planner of Spark's {@code NEAREST k BY}. */
public enum NearestMode {
  /** Products of vectors, where the ranking expression allows it. */
  AUTO,
  /** Spark. */
  OFF
}
