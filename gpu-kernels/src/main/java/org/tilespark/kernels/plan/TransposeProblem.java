package org.tilespark.kernels.plan;

import java.util.Objects;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * What is asked of a transpose: a dense row-major array of {@code shape}, its axes reordered by
 * {@code permutation}, with elements of {@code elementBytes} bytes. The result is dense and
 * row-major too, with shape {@link #outputShape()}.
 *
 * @param shape input extents, outermost first
 * @param permutation output axis {@code i} is input axis {@code permutation.axis(i)}
 * @param elementBytes width of one element: 1, 2, 4, 8 or 16
 */
public record TransposeProblem(Shape shape, Permutation permutation, int elementBytes) {
  /**
   * Checks the parts against each other.
   *
   * @throws IllegalArgumentException if ranks differ, the width is none of 1, 2, 4, 8 and 16, or
   *     the array has more than 2^63 - 1 bytes
   */
  public TransposeProblem {
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(permutation, "permutation");
    if (shape.rank() != permutation.rank()) {
      throw new IllegalArgumentException(
          "Shape "
              + shape
              + " has "
              + shape.rank()
              + " axes, permutation "
              + permutation
              + " has "
              + permutation.rank());
    }
    if (elementBytes < 1 || elementBytes > 16 || Integer.bitCount(elementBytes) != 1) {
      throw new IllegalArgumentException(
          "Element width " + elementBytes + " bytes; expected 1, 2, 4, 8 or 16");
    }
    if (shape.elements() > Long.MAX_VALUE / elementBytes) {
      throw new IllegalArgumentException(
          "Shape " + shape + " of " + elementBytes + "-byte elements exceeds 2^63 - 1 bytes");
    }
  }

  /** Bytes of the input, and of the output. */
  public long bytes() {
    return shape.elements() * elementBytes;
  }

  /** Extents of the output, outermost first. */
  public Shape outputShape() {
    return permutation.apply(shape);
  }

  /**
   * Checks that input and output have the length this problem needs.
   *
   * @throws IllegalArgumentException if one has not; the message names both lengths
   */
  public void requireBytes(long inBytes, long outBytes) {
    if (inBytes != bytes() || outBytes != bytes()) {
      throw new IllegalArgumentException(
          (inBytes != bytes() ? "Input holds " + inBytes : "Output holds " + outBytes)
              + " bytes, shape "
              + shape
              + " of "
              + elementBytes
              + "-byte elements needs "
              + bytes());
    }
  }
}
