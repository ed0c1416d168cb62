package org.tilespark.spark.vectors;

import java.io.Serializable;
import java.util.Arrays;

/** The place in the matrix of each partition's first row. Immutable. */
final class Places implements Serializable {
  private static final long serialVersionUID = 1;

  private final long[] counts; // count of each partition's rows; -1 if they were not counted

  /**
   * @param counts count of each partition's rows; -1 if they were not counted; borrowed
   */
  Places(long[] counts) {
    this.counts = counts;
  }

  /** Places of partitions that were not counted; each begins at 0. */
  static Places unknown(int partitions) {
    long[] counts = new long[partitions];
    Arrays.fill(counts, -1);
    return new Places(counts);
  }

  /** The place of the first row of a partition. */
  long first(int partition) {
    long first = 0;
    for (int i = 0; i < partition; i++) {
      first += Math.max(0, counts[i]);
    }
    return first;
  }

  /** True if there is only one partition. */
  boolean isAlone() {
    return counts.length == 1;
  }

  /** Count of a partition's rows; -1 if they were not counted. */
  long count(int partition) {
    return counts[partition];
  }

  /** Count of the rows of all partitions; -1 if they were not counted. */
  long total() {
    long total = 0;
    for (long count : counts) {
      if (count < 0) {
        return -1;
      }
      total += count;
    }
    return total;
  }
}
