package org.tilespark.spark.source;

import java.util.Arrays;
import org.apache.spark.sql.connector.read.InputPartition;

/** The blocks that one task reads, as ranges of their numbers in the tiling. Immutable. */
public final class BlockRanges implements InputPartition {
  private final long[] ranges;
  private final String[] hosts;

  /**
   * A partition.
   *
   * @param ranges pairs of a range's first block and its end, exclusive, ascending
   * @param hosts hosts that store most bytes of the blocks, best first; may be empty
   */
  public BlockRanges(long[] ranges, String[] hosts) {
    this.ranges = ranges.clone();
    this.hosts = hosts.clone();
  }

  /** Count of ranges. */
  public int rangeCount() {
    return ranges.length / 2;
  }

  /** Number of the first block of range {@code i}. */
  public long start(int i) {
    return ranges[2 * i];
  }

  /** Number after the last block of range {@code i}. */
  public long end(int i) {
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
