package org.tilespark.spark.conf;

/** The store for cached blocks. */
public enum CacheMode {
  /** Memory outside the heap; if that is full, Spark's storage memory. */
  AUTO,
  /** Spark's own cache alone. */
  SPARK
}
