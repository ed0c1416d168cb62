package org.tilespark.layout;

import java.util.Arrays;

/** The distance in elements between neighbours along each axis, outermost axis first. Immutable. */
public final class Strides {
  private final long[] strides;

  private Strides(long[] strides) {
    this.strides = strides;
  }

  /** The given strides, outermost axis first. */
  public static Strides of(long... strides) {
    return new Strides(strides.clone());
  }

  /** The strides of a dense row-major array: 1 for the last axis. */
  public static Strides rowMajor(Shape shape) {
    long[] strides = new long[shape.rank()];
    long stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= Math.max(1, shape.extent(axis));
    }
    return new Strides(strides);
  }

  /** The number of axes. */
  public int rank() {
    return strides.length;
  }

  /** Elements between neighbours along {@code axis}. */
  public long stride(int axis) {
    return strides[axis];
  }

  /**
   * The strides of the same array read with its axes in another order.
   *
   * @throws IllegalArgumentException if the ranks differ
   */
  public Strides permute(Permutation permutation) {
    return new Strides(permutation.apply(strides));
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Strides other && Arrays.equals(strides, other.strides);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(strides);
  }

  @Override
  public String toString() {
    return Arrays.toString(strides);
  }
}
