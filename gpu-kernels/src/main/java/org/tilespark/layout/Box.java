package org.tilespark.layout;

import java.io.Serializable;
import java.util.Arrays;

/**
 * A box of elements of an array: along each axis the half-open range from {@code low} to {@code
 * high}. Never empty. It may begin before the array, as a block with a halo does. Immutable.
 */
public final class Box implements Serializable {
  private final long[] low;
  private final long[] high;

  private Box(long[] low, long[] high) {
    this.low = low;
    this.high = high;
  }

  /**
   * The box between two corners.
   *
   * @param low index of the first element, one number per axis
   * @param high end along each axis, exclusive
   * @throws IllegalArgumentException if the ranks differ or a range is empty
   */
  public static Box between(long[] low, long[] high) {
    boolean good = low.length == high.length;
    for (int axis = 0; good && axis < low.length; axis++) {
      good = high[axis] > low[axis];
    }
    if (!good) {
      throw new IllegalArgumentException(
          "Box from %s to %s; expected as many ends as starts, and no empty range"
              .formatted(Arrays.toString(low), Arrays.toString(high)));
    }
    return new Box(low.clone(), high.clone());
  }

  /**
   * The box of a block.
   *
   * @param offset index of the block's first element, one number per axis
   * @param size number of the block's elements along each axis, 1 or more
   * @throws IllegalArgumentException as {@link #between}, and if it ends beyond 2^63 - 1
   */
  public static Box at(long[] offset, long[] size) {
    if (offset.length != size.length) {
      throw new IllegalArgumentException(
          "Box at " + Arrays.toString(offset) + " of sizes " + Arrays.toString(size));
    }
    long[] high = new long[offset.length];
    for (int axis = 0; axis < offset.length; axis++) {
      high[axis] = offset[axis] + size[axis]; // beyond 2^63 - 1 it turns negative, below low
    }
    return between(offset, high);
  }

  /** The number of axes. */
  public int rank() {
    return low.length;
  }

  /** First element of the box along {@code axis}. */
  public long low(int axis) {
    return low[axis];
  }

  /** End of the box along {@code axis}, exclusive. */
  public long high(int axis) {
    return high[axis];
  }

  /** The number of elements along {@code axis}. */
  public long size(int axis) {
    return high[axis] - low[axis];
  }

  /** Index of the first element along each axis; a copy. */
  public long[] offset() {
    return low.clone();
  }

  /** The number of elements along each axis; a copy. */
  public long[] sizes() {
    long[] sizes = new long[low.length];
    Arrays.setAll(sizes, this::size);
    return sizes;
  }

  /**
   * Count of elements.
   *
   * @throws ArithmeticException if it exceeds 2^63 - 1
   */
  public long volume() {
    long volume = 1;
    for (int axis = 0; axis < low.length; axis++) {
      volume = Math.multiplyExact(volume, size(axis));
    }
    return volume;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Box other
        && Arrays.equals(low, other.low)
        && Arrays.equals(high, other.high);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(low) + Arrays.hashCode(high);
  }

  /** The text as numpy slices: {@code [0:4, 6:12]}. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("[");
    for (int axis = 0; axis < low.length; axis++) {
      text.append(axis == 0 ? "" : ", ").append(low[axis]).append(':').append(high[axis]);
    }
    return text.append(']').toString();
  }
}
