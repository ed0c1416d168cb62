package org.tilespark.spark.npy;

import java.util.Arrays;
import org.apache.spark.sql.connector.read.InputPartition;

/** The blocks that one task reads, as ranges of their numbers in the tiling. Immutable. */
final class NpyPartition implements InputPartition {
  private static final long serialVersionUID = 1;

  private final long[] ranges;
  private final String[] hosts;

  /**
   * A partition.
   *
   * @param ranges pairs of first block and end, ascending
   * @param hosts where most of their bytes lie, best first; may be empty
   */
  NpyPartition(long[] ranges, String[] hosts) {
    this.ranges = ranges.clone();
    this.hosts = hosts.clone();
  }

  /** Count of ranges. */
  int rangeCount() {
    return ranges.length / 2;
  }

  /** Number of the first block of range {@code i}. */
  long start(int i) {
    return ranges[2 * i];
  }

  /** Number after the last block of range {@code i}. */
  long end(int i) {
    return ranges[2 * i + 1];
  }

  @Override
  public String[] preferredLocations() {
    return hosts.clone();
  }

  @Override
  public String toString() {
    return "blocks " + Arrays.toString(ranges);
  }
}
