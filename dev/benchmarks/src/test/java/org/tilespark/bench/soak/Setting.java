package org.tilespark.bench.soak;

/** The source of an operator's input, and the operators above it in the query. */
enum Setting {
  /** Whole arrays; all rows are collected. */
  PLAIN,
  /** A filter over a place column stands above. */
  FILTERED,
  /** A join with some of the places stands above. */
  JOINED,
  /**
   * Three arrays distinguished by a DOUBLE column with 0.0, -0.0 and NaN of several bit patterns.
   */
  GROUPED,
  /** A filter below leaves no blocks. */
  EMPTY,
  /** Two further columns have one name, or names that differ in case. */
  DUPLICATE_COLUMNS,
  /** A block is there twice. */
  DOUBLED,
  /** The table of a SQL function has PARTITION BY, ORDER BY or WITH SINGLE PARTITION. */
  PARTITIONED
}
