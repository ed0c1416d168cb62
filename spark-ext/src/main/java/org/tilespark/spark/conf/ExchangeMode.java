package org.tilespark.spark.conf;

/** The way blocks move between tasks. */
public enum ExchangeMode {
  /** Memory outside the heap where that can be, else Spark's own shuffle. */
  AUTO,
  /** Memory outside the heap; an error that says why where that cannot be. */
  MEMORY,
  /** Spark's own shuffle. */
  SPARK
}
