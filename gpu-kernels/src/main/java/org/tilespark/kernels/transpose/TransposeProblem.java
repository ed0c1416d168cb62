package org.tilespark.kernels.transpose;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

/**
 * A transpose: an array of {@code shape}, whose elements have {@code elementBytes} bytes, and its
 * axes reordered by {@code permutation}. The result has the shape {@link #outputShape()}.
 *
 * <p>Input and output are dense and row-major unless strides say otherwise: a block inside a larger
 * array has the strides of that array. Worked case: 100 x 60 elements in the middle of a matrix
 * with rows of 4096 have the strides {@code (4096, 1)}; the caller passes the address of the
 * block's first element, and {@link #inBytes()} reaches to the end of its last element. Gaps
 * between elements of the output are never written.
 *
 * <p>An axis of the input whose stride is negative is read backwards. The caller still passes the
 * address of the lowest element; the first element is {@link #inStartBytes()} after it.
 *
 * @param shape input extents, outermost first
 * @param permutation output axis {@code i} is input axis {@code permutation.axis(i)}
 * @param elementBytes width of one element: 1, 2, 4, 8 or 16
 * @param inStrides elements between neighbours along each axis of the input
 * @param outStrides elements between neighbours along each axis of the output
 */
public record TransposeProblem(
    Shape shape, Permutation permutation, int elementBytes, Strides inStrides, Strides outStrides) {
  /**
   * Checks the components against each other.
   *
   * @throws IllegalArgumentException if ranks differ, the width is none of 1, 2, 4, 8 and 16, a
   *     stride of the output is negative, a stride is 0 or lets two elements overlap, or input or
   *     output spans more than 2^63 - 1 bytes
   */
  public TransposeProblem {
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(permutation, "permutation");
    if (shape.rank() != permutation.rank()) {
      throw new IllegalArgumentException(
          "Shape %s has %s axes, permutation %s has %s"
              .formatted(shape, shape.rank(), permutation, permutation.rank()));
    }
    if (elementBytes < 1 || elementBytes > 16 || Integer.bitCount(elementBytes) != 1) {
      throw new IllegalArgumentException(
          "Element width " + elementBytes + " bytes; expected 1, 2, 4, 8 or 16");
    }
    if (shape.elements() > Long.MAX_VALUE / elementBytes) {
      throw new IllegalArgumentException(
          "Shape " + shape + " of " + elementBytes + "-byte elements exceeds 2^63 - 1 bytes");
    }
    checkStrides("Input", shape, inStrides, elementBytes);
    checkStrides("Output", permutation.apply(shape), outStrides, elementBytes);
    for (int axis = 0; axis < outStrides.rank(); axis++) {
      if (outStrides.stride(axis) < 0 && shape.extent(permutation.axis(axis)) > 1) {
        throw new IllegalArgumentException(
            "Output strides " + outStrides + "; expected none below 0, only an input's may be");
      }
    }
  }

  /** A transpose from a dense array into a dense array. */
  public TransposeProblem(Shape shape, Permutation permutation, int elementBytes) {
    this(
        shape,
        permutation,
        elementBytes,
        Strides.rowMajor(shape),
        shape.rank() == permutation.rank()
            ? Strides.rowMajor(permutation.apply(shape))
            : Strides.rowMajor(shape));
  }

  private static void checkStrides(String side, Shape shape, Strides strides, int elementBytes) {
    if (strides.rank() != shape.rank()) {
      throw new IllegalArgumentException(
          side + " strides " + strides + " and shape " + shape + " differ in rank");
    }
    if (shape.elements() == 0) {
      return;
    }
    List<Integer> axes = new ArrayList<>();
    for (int axis = 0; axis < shape.rank(); axis++) {
      if (shape.extent(axis) > 1) {
        axes.add(axis);
      }
    }
    axes.sort(Comparator.comparingLong(axis -> Math.abs(strides.stride(axis))));
    try {
      long reach = 1; // elements from the first to the last so far
      for (int axis : axes) {
        long stride = Math.abs(strides.stride(axis));
        if (stride < reach) {
          throw new IllegalArgumentException(
              "%s strides %s of shape %s: axis %s needs at least %s, or elements overlap"
                  .formatted(side, strides, shape, axis, reach));
        }
        reach = Math.addExact(reach, Math.multiplyExact(shape.extent(axis) - 1, stride));
      }
      Math.multiplyExact(reach, (long) elementBytes);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          side + " strides " + strides + " of shape " + shape + " exceed 2^63 - 1 bytes", e);
    }
  }

  /** Bytes of all elements, without the gaps. */
  public long bytes() {
    return shape.elements() * elementBytes;
  }

  /** Bytes from the input's lowest element to the end of its highest; {@link #bytes()} if dense. */
  public long inBytes() {
    return reach(shape, inStrides);
  }

  /** Bytes from the output's first element to the end of its last; {@link #bytes()} if dense. */
  public long outBytes() {
    return reach(outputShape(), outStrides);
  }

  /**
   * Bytes from the lowest element to the end of the highest; strides of axes of extent 1 are
   * ignored, since they may be any number.
   */
  private long reach(Shape extents, Strides strides) {
    if (extents.elements() == 0) {
      return 0;
    }
    long last = 0;
    for (int axis = 0; axis < extents.rank(); axis++) {
      last +=
          extents.extent(axis) == 1
              ? 0
              : (extents.extent(axis) - 1) * Math.abs(strides.stride(axis));
    }
    return (last + 1) * elementBytes;
  }

  /** Bytes from the input's lowest element to its first; 0 unless an axis is read backwards. */
  public long inStartBytes() {
    long start = 0;
    for (int axis = 0; axis < shape.rank(); axis++) {
      if (shape.extent(axis) > 1 && inStrides.stride(axis) < 0) {
        start -= (shape.extent(axis) - 1) * inStrides.stride(axis);
      }
    }
    return start * elementBytes;
  }

  /** Extents of the output, outermost first. */
  public Shape outputShape() {
    return permutation.apply(shape);
  }

  /**
   * Checks that input and output have the length this problem needs.
   *
   * @throws IllegalArgumentException if one has another length; the message names both lengths
   */
  public void requireBytes(long givenInBytes, long givenOutBytes) {
    requireBytes("Input", givenInBytes, inBytes(), inStrides, shape);
    requireBytes("Output", givenOutBytes, outBytes(), outStrides, outputShape());
  }

  private void requireBytes(String side, long given, long needed, Strides strides, Shape extents) {
    if (given != needed) {
      throw new IllegalArgumentException(
          "%s holds %s bytes, shape %s of %s-byte elements%s needs %s"
              .formatted(
                  side,
                  given,
                  shape,
                  elementBytes,
                  strides.equals(Strides.rowMajor(extents)) ? "" : " with strides " + strides,
                  needed));
    }
  }
}
