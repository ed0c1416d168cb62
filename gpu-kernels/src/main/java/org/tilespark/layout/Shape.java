package org.tilespark.layout;

import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * The extents of a dense array, outermost axis first; values are row-major, so the last axis is
 * contiguous.
 *
 * <p>Extents are at least 0 and their product fits a {@code long}. Immutable.
 */
public final class Shape implements java.io.Serializable {
  private final long[] extents;
  private final long elements;

  private Shape(long[] extents) {
    long product = 1;
    boolean empty = false;
    for (long extent : extents) {
      if (extent < 0) {
        throw new IllegalArgumentException(
            "Shape " + format(extents) + " has the extent " + extent + "; expected 0 or more");
      }
      empty |= extent == 0;
    }
    try {
      for (long extent : extents) {
        product = empty ? 0 : Math.multiplyExact(product, extent);
      }
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "Shape " + format(extents) + " has more than 2^63 - 1 elements", e);
    }
    this.extents = extents;
    this.elements = product;
  }

  /**
   * A shape of the given extents, outermost first.
   *
   * @throws IllegalArgumentException if an extent is negative or the product exceeds 2^63 - 1
   */
  public static Shape of(long... extents) {
    return new Shape(extents.clone());
  }

  /**
   * Reads numbers separated by commas, {@code "2048,2048"}.
   *
   * @param what name of the parameter, for messages
   * @throws IllegalArgumentException if there are not {@code rank} numbers of 0 or more
   */
  public static Shape parse(String what, String text, int rank) {
    long[] extents;
    try {
      extents =
          Arrays.stream(text.split(",", -1)).map(String::trim).mapToLong(Long::parseLong).toArray();
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          what + " is '" + text + "'; expected " + rank + " whole numbers separated by commas", e);
    }
    if (extents.length != rank || Arrays.stream(extents).anyMatch(extent -> extent < 0)) {
      throw new IllegalArgumentException(
          what + " is '" + text + "'; expected " + rank + " whole numbers of 0 or more");
    }
    return of(extents);
  }

  /** The extents as a text that {@link #parse} reads. */
  public String text() {
    return Arrays.stream(extents).mapToObj(Long::toString).collect(Collectors.joining(","));
  }

  /** The number of axes. */
  public int rank() {
    return extents.length;
  }

  /** Length of axis {@code axis}, in elements. */
  public long extent(int axis) {
    return extents[axis];
  }

  /** Product of all extents; 1 for rank 0. */
  public long elements() {
    return elements;
  }

  /** Extents, outermost first; a copy. */
  public long[] toArray() {
    return extents.clone();
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Shape other && Arrays.equals(extents, other.extents);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(extents);
  }

  /** The text as numpy prints it: {@code (4096, 64)}. */
  @Override
  public String toString() {
    return format(extents);
  }

  private static String format(long[] extents) {
    return Arrays.stream(extents)
        .mapToObj(Long::toString)
        .collect(Collectors.joining(", ", "(", ")"));
  }
}
