package org.tilespark.layout;

import java.io.Serializable;
import java.util.Arrays;

/**
 * The cuts of one axis into parts, numbered from 0: every {@code step} elements, or at stated
 * boundaries, or every {@code step} elements from each boundary on. Immutable.
 */
public final class AxisCuts implements Serializable {
  private final long step; // 0 if there is none
  private final long extent; // of the axis; Long.MAX_VALUE if it is not known
  // Starts of all ranges between boundaries, then the extent; empty if there are no boundaries
  private final long[] boundaries;
  private final long[] before; // parts before each range, then of all; only if there is a step too

  private AxisCuts(long step, long extent, long[] boundaries, long[] before) {
    this.step = step;
    this.extent = extent;
    this.boundaries = boundaries;
    this.before = before;
  }

  /**
   * A cut every {@code step} elements along an axis of {@code extent}; the last part may be
   * shorter.
   *
   * @throws IllegalArgumentException if {@code step} is less than 1 or {@code extent} negative
   */
  public static AxisCuts every(long step, long extent) {
    if (step < 1 || extent < 0) {
      throw new IllegalArgumentException(
          "Cuts every %s elements along %s; expected 1 or more, and 0 or more"
              .formatted(step, extent));
    }
    return new AxisCuts(step, extent, new long[0], new long[0]);
  }

  /** A cut every {@code step} elements along an axis whose end is not known. */
  public static AxisCuts every(long step) {
    return every(step, Long.MAX_VALUE);
  }

  /**
   * Cuts at the given places: each part is between two neighbours of them.
   *
   * @param boundaries 0, then the end of each part, ascending
   * @throws IllegalArgumentException if they do not ascend from 0
   */
  public static AxisCuts at(long... boundaries) {
    boolean good = boundaries.length > 0 && boundaries[0] == 0;
    for (int i = 1; good && i < boundaries.length; i++) {
      good = boundaries[i] > boundaries[i - 1];
    }
    if (!good) {
      throw new IllegalArgumentException(
          "Cuts at " + Arrays.toString(boundaries) + "; expected places that ascend from 0");
    }
    return new AxisCuts(0, boundaries[boundaries.length - 1], boundaries.clone(), new long[0]);
  }

  /**
   * Cuts into parts that are as equal as possible.
   *
   * @param parts how many parts, at most {@code extent}
   * @param grain extent of blocks: cuts are moved to multiples of it, as long as no part becomes
   *     larger by more than a twentieth, so that fewer blocks are cut
   * @throws IllegalArgumentException if {@code parts} is not 1 to {@code extent}, or {@code grain}
   *     is less than 1
   */
  public static AxisCuts even(long extent, int parts, long grain) {
    if (parts < 1 || parts > extent || grain < 1) {
      throw new IllegalArgumentException(
          parts + " parts of " + extent + " elements in grains of " + grain);
    }
    long[] even = new long[parts + 1];
    long[] grained = new long[parts + 1];
    for (int i = 0; i <= parts; i++) {
      even[i] = share(extent, i, parts);
      grained[i] = i == parts ? extent : (even[i] + grain / 2) / grain * grain;
    }
    long most = extent / parts + (extent % parts == 0 ? 0 : 1);
    boolean good = true;
    for (int i = 1; i <= parts; i++) {
      long part = grained[i] - grained[i - 1];
      good &= part > 0 && part - most <= most / 20;
    }
    return at(good ? grained : even);
  }

  /**
   * Parts between neighbours of the given places, each cut further every {@code step} elements from
   * its beginning; its last part may be shorter.
   *
   * @param boundaries as for {@link #at}
   * @throws IllegalArgumentException if they do not ascend from 0, or {@code step} is less than 1
   */
  public static AxisCuts within(long step, long... boundaries) {
    AxisCuts ranges = at(boundaries);
    if (step < 1) {
      throw new IllegalArgumentException("Cuts every " + step + " elements; expected 1 or more");
    }
    if (step >= ranges.largest()) {
      return ranges;
    }
    long[] before = new long[boundaries.length];
    for (int i = 1; i < boundaries.length; i++) {
      long length = boundaries[i] - boundaries[i - 1];
      before[i] = before[i - 1] + length / step + (length % step == 0 ? 0 : 1);
    }
    return new AxisCuts(step, ranges.extent, ranges.boundaries, before);
  }

  /** The boundary {@code extent * i / parts}, computed without overflow. */
  private static long share(long extent, long i, long parts) {
    return extent / parts * i + extent % parts * i / parts;
  }

  /** The number of parts. */
  public long parts() {
    if (before.length > 0) {
      return before[before.length - 1];
    }
    return step == 0
        ? boundaries.length - 1
        : extent / step + (extent % step == 0 ? 0 : 1); // no ceilDiv: extent may be the largest
  }

  /** The beginnings of all parts, then the extent; for cuts at stated boundaries. */
  public long[] places() {
    return boundaries.clone();
  }

  /** End of the last part, exclusive: the axis's extent. */
  public long extent() {
    return extent;
  }

  /**
   * The number of the part that holds an element.
   *
   * @throws IndexOutOfBoundsException if the element is not on the axis
   */
  public long part(long element) {
    if (element < 0 || element >= extent) {
      throw new IndexOutOfBoundsException("Element " + element + " of an axis of " + extent);
    }
    if (boundaries.length == 0) {
      return element / step;
    }
    int range = range(boundaries, element);
    return before.length == 0 ? range : before[range] + (element - boundaries[range]) / step;
  }

  /** The index of the last of ascending numbers that is at most {@code number}. */
  private static int range(long[] ascending, long number) {
    int found = Arrays.binarySearch(ascending, number);
    return found >= 0 ? found : -found - 2;
  }

  /** First element of part number {@code part}. */
  public long low(long part) {
    if (before.length > 0) {
      int range = range(before, part);
      return boundaries[range] + (part - before[range]) * step;
    }
    return step == 0 ? boundaries[Math.toIntExact(part)] : part * step;
  }

  /** End of part number {@code part}, exclusive. */
  public long high(long part) {
    if (step == 0) {
      return boundaries[Math.toIntExact(part) + 1];
    }
    long low = low(part);
    long end = before.length == 0 ? extent : boundaries[range(before, part) + 1];
    return end - low <= step ? end : low + step;
  }

  /** The number of elements of the largest part; 0 if there is no part. */
  public long largest() {
    if (boundaries.length == 0) {
      return Math.min(step, extent);
    }
    long most = 0;
    for (int i = 1; i < boundaries.length; i++) {
      most = Math.max(most, boundaries[i] - boundaries[i - 1]);
    }
    return step == 0 ? most : Math.min(step, most);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof AxisCuts other
        && step == other.step
        && extent == other.extent
        && Arrays.equals(boundaries, other.boundaries);
  }

  @Override
  public int hashCode() {
    return Long.hashCode(step) + 31 * (Long.hashCode(extent) + 31 * Arrays.hashCode(boundaries));
  }

  @Override
  public String toString() {
    if (boundaries.length > 0) {
      return (step == 0 ? "" : "every " + step + " from each start ")
          + "at "
          + Arrays.toString(boundaries);
    }
    return "every " + step + (extent == Long.MAX_VALUE ? "" : " of " + extent);
  }
}
