package org.tilespark.spark.conf;

/** The keeper of cached blocks. */
public enum CacheMode {
  /** Memory outside the heap, and Spark's storage memory if that is full. */
  AUTO,
  /** Spark's own cache. */
  SPARK
}
