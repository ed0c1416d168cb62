package org.tilespark.spark.source.contiguous;

import java.io.Serializable;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;

/**
 * The numbers of an array in one file, one after the other and without a codec. Immutable.
 *
 * @param shape extents, leading axes first
 * @param type type of the numbers
 * @param bigEndian true if the numbers' first byte is the highest
 * @param firstAxisFastest true if of a matrix or a volume the first axis is the contiguous one, as
 *     in Fortran; leading axes are the slowest ones in either case
 * @param dataOffset bytes before the numbers
 * @param scaling the values that the numbers stand for
 */
public record ContiguousArray(
    Shape shape,
    NpyType type,
    boolean bigEndian,
    boolean firstAxisFastest,
    long dataOffset,
    Scaling scaling)
    implements Serializable {
  /**
   * The value of a number: {@code slope * number + intercept}.
   *
   * @param slope factor
   * @param intercept value of the number 0
   */
  public record Scaling(double slope, double intercept) implements Serializable {
    /** Numbers are values. */
    public static final Scaling NONE = new Scaling(1, 0);
  }

  /**
   * Checks that the bytes can be counted.
   *
   * @throws IllegalArgumentException if there are more than 2^63 - 1
   */
  public ContiguousArray {
    double bytes = type.elementBytes();
    for (long extent : shape.toArray()) {
      bytes *= extent;
    }
    if (dataOffset < 0 || bytes + dataOffset >= Long.MAX_VALUE) {
      throw new IllegalArgumentException(
          "Shape %s of %s after %s bytes has more than 2^63 - 1 bytes"
              .formatted(shape, type.numpyName(), dataOffset));
    }
  }

  /** Length of a file that ends after the numbers, in bytes. */
  public long fileBytes() {
    return dataOffset + shape.elements() * type.elementBytes();
  }
}
