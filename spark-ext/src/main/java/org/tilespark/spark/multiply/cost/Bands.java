package org.tilespark.spark.multiply.cost;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;
import org.tilespark.layout.AxisCuts;

/**
 * An axis that is cut into bands of equal length, each of which is in a partition already. It
 * defines another order of the elements, in which those of each partition are consecutive. An index
 * in that order is called a rank, and the ranks of one partition are a range.
 *
 * <pre>
 *   bands of 4, in partitions 1 0 1:    elements  0 1 2 3 | 4 5 6 7 | 8 9
 *                                       ranks     4 5 6 7 | 0 1 2 3 | 8 9
 *   ranges of ranks: partition 0 at [0, 4), partition 1 at [4, 10)
 * </pre>
 *
 * <p>Immutable.
 */
public final class Bands implements Serializable {
  private final long length; // of a band; the last one may be shorter
  private final long extent;
  private final int[] partition; // of each band
  private final long[] firstRank; // rank of each band's first element
  private final int[] order; // the bands by rank
  private final long[] boundaries; // first rank of each range, then the extent
  private final int[] partitionOfRange;

  /**
   * An axis whose bands are in the given partitions.
   *
   * @param length elements of a band, 1 or more
   * @param extent extent of the axis, 1 or more
   * @param partition partition of each band, 0 or more
   */
  public Bands(long length, long extent, int[] partition) {
    if (partition.length != AxisCuts.every(length, extent).parts()) {
      throw new IllegalArgumentException(
          partition.length + " partitions for bands of " + length + " of " + extent + " elements");
    }
    this.length = length;
    this.extent = extent;
    this.partition = partition.clone();
    // Only the last band may be shorter, and it is also the last of its partition.
    this.order =
        IntStream.range(0, partition.length)
            .boxed()
            .sorted(Comparator.comparingInt(band -> this.partition[band]))
            .mapToInt(Integer::intValue)
            .toArray();
    this.firstRank = new long[partition.length];
    long[] starts = new long[partition.length + 1];
    int[] partitions = new int[partition.length];
    int ranges = 0;
    long rank = 0;
    for (int band : order) {
      if (ranges == 0 || partitions[ranges - 1] != partition[band]) {
        partitions[ranges] = partition[band];
        starts[ranges++] = rank;
      }
      firstRank[band] = rank;
      rank += Math.min(length, extent - band * length);
    }
    starts[ranges] = extent;
    this.boundaries = Arrays.copyOf(starts, ranges + 1);
    this.partitionOfRange = Arrays.copyOf(partitions, ranges);
  }

  /** The first rank of each range, then the extent of the axis. */
  public long[] boundaries() {
    return boundaries.clone();
  }

  /** The partition of a range. */
  public int partition(int range) {
    return partitionOfRange[range];
  }

  /** The range that holds a rank. */
  public int range(long rank) {
    int found = Arrays.binarySearch(boundaries, rank);
    return found >= 0 ? found : -found - 2;
  }

  /** Count of ranges: partitions that have a band. */
  public int ranges() {
    return partitionOfRange.length;
  }

  /** Elements of the largest range. */
  public long largest() {
    return AxisCuts.at(boundaries).largest();
  }

  /** The rank of an element. */
  public long rank(long element) {
    int band = (int) (element / length);
    return firstRank[band] + element % length;
  }

  /** The element that has a rank. */
  public long element(long rank) {
    int low = 0;
    int high = order.length - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (firstRank[order[middle]] <= rank) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return order[low] * length + (rank - firstRank[order[low]]);
  }

  /** The end of the band of an element, exclusive. */
  public long bandEnd(long element) {
    return Math.min(extent, (element / length + 1) * length);
  }

  /**
   * The cuts of the axis at its bands, and inside a band every {@code step} elements from its
   * beginning.
   */
  public AxisCuts cuts(long step) {
    if (step >= length) {
      return AxisCuts.every(length, extent);
    }
    long[] starts = new long[partition.length + 1];
    Arrays.setAll(starts, band -> Math.min(extent, band * length));
    return AxisCuts.within(step, starts);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Bands that
        && length == that.length
        && extent == that.extent
        && Arrays.equals(partition, that.partition);
  }

  @Override
  public int hashCode() {
    return Long.hashCode(length) + 31 * (Long.hashCode(extent) + 31 * Arrays.hashCode(partition));
  }

  @Override
  public String toString() {
    return partition.length + " bands of " + length + " in " + ranges() + " partitions";
  }
}
