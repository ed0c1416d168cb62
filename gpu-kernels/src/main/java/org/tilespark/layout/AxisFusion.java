package org.tilespark.layout;

import java.util.Objects;

/**
 * The simplest transpose with the effect of a given one: axes of extent 1 are dropped, and axes
 * that stay neighbours, in order, are fused into one.
 *
 * <p>Worked case: the shape {@code (8, 3, 1, 32, 32)} under {@code [0, 2, 3, 4, 1]} (images from
 * channels first to channels last) becomes {@code (8, 3, 1024)} under {@code [0, 2, 1]}. The bytes
 * of input and output are the same under both readings. An order that changes nothing becomes one
 * axis under {@code [0]}, and so does every empty array. Immutable.
 *
 * @param shape canonical input extents, outermost first; at least one axis
 * @param permutation canonical order, of the same rank; no two neighbouring output axes are
 *     neighbouring input axes
 */
public record AxisFusion(Shape shape, Permutation permutation) {
  /** Checks that the ranks agree. */
  public AxisFusion {
    Objects.requireNonNull(shape, "shape");
    if (shape.rank() != permutation.rank()) {
      throw new IllegalArgumentException(
          "Shape " + shape + " and permutation " + permutation + " differ in rank");
    }
  }

  /**
   * The canonical form of {@code shape} reordered by {@code permutation}.
   *
   * @throws IllegalArgumentException if the ranks differ
   */
  public static AxisFusion of(Shape shape, Permutation permutation) {
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
    if (shape.elements() == 0) {
      return new AxisFusion(Shape.of(0), Permutation.identity(1));
    }
    int rank = shape.rank();
    // Input axes that matter, numbered without gaps: kept[axis] is the number, or -1.
    int[] kept = new int[rank];
    int count = 0;
    for (int axis = 0; axis < rank; axis++) {
      kept[axis] = shape.extent(axis) == 1 ? -1 : count++;
    }
    if (count == 0) {
      return new AxisFusion(Shape.of(1), Permutation.identity(1));
    }
    // Walk the output axes; a run of consecutive input axes is one group.
    int[] firstOfGroup = new int[count]; // by output place
    long[] extentOfGroup = new long[count];
    int groups = 0;
    int previous = -2;
    for (int i = 0; i < rank; i++) {
      int axis = kept[permutation.axis(i)];
      if (axis < 0) {
        continue;
      }
      if (axis == previous + 1) {
        extentOfGroup[groups - 1] *= shape.extent(permutation.axis(i));
      } else {
        firstOfGroup[groups] = axis;
        extentOfGroup[groups] = shape.extent(permutation.axis(i));
        groups++;
      }
      previous = axis;
    }
    // A group's place in the input is the count of groups that begin before it there.
    int[] axes = new int[groups];
    long[] extents = new long[groups];
    for (int i = 0; i < groups; i++) {
      int place = 0;
      for (int j = 0; j < groups; j++) {
        if (firstOfGroup[j] < firstOfGroup[i]) {
          place++;
        }
      }
      axes[i] = place;
      extents[place] = extentOfGroup[i];
    }
    return new AxisFusion(Shape.of(extents), Permutation.of(axes));
  }

  /** Count of axes left. */
  public int rank() {
    return shape.rank();
  }

  /** True if nothing moves, so that a copy does. */
  public boolean isCopy() {
    return permutation.isIdentity();
  }

  /** True if the innermost axis stays innermost, so that whole runs move. */
  public boolean keepsInnermost() {
    return permutation.axis(rank() - 1) == rank() - 1;
  }

  /**
   * The move of whole runs, each run counted as one element: the innermost axis, which stays in
   * place, is left out.
   *
   * @throws IllegalStateException if the innermost axis moves, or is the only one
   */
  public AxisFusion withoutInnermost() {
    if (!keepsInnermost() || rank() == 1) {
      throw new IllegalStateException("No runs to move in " + this);
    }
    long[] extents = new long[rank() - 1];
    int[] axes = new int[rank() - 1];
    for (int i = 0; i < axes.length; i++) {
      extents[i] = shape.extent(i);
      axes[i] = permutation.axis(i);
    }
    return new AxisFusion(Shape.of(extents), Permutation.of(axes));
  }
}
