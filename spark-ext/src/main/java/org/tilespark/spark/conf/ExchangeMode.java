package org.tilespark.spark.conf;

/** The way blocks move between tasks. */
public enum ExchangeMode {
  /** Memory outside the heap if possible, otherwise Spark's own shuffle. */
  AUTO,
  /** Memory outside the heap; if that is impossible, an error that says why. */
  MEMORY,
  /** Spark's own shuffle, always. */
  SPARK
}
