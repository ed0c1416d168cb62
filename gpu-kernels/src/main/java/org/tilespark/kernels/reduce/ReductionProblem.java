package org.tilespark.kernels.reduce;

import java.util.Set;
import java.util.TreeSet;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * A dense, row-major array that is reduced along some of its axes. Each result is made of a
 * sequence: the elements at its place along the other axes, in row-major order along the reduced
 * ones. A place is an index in that sequence.
 *
 * <p>Floating-point numbers are added in one order, whoever adds them, so that sums have equal bits
 * on every twin and do not depend on how the work is divided: the sequence is cut into pieces of
 * {@link #TREE}, the last one filled up with -0, which changes no sum; in each piece number i is
 * added to number i + 512, then i + 256 and so on down to 1; the sums of the pieces are a sequence
 * that is treated likewise, until one is left. FLOAT32 is added in double precision.
 *
 * @param shape shape of the array
 * @param axes reduced axes; at least one
 * @param type element type
 * @param reduction the reduction of each sequence
 */
public record ReductionProblem(
    Shape shape, Set<Integer> axes, ElementType type, Reduction reduction) {
  /** Numbers that are added in one tree; a power of two. */
  public static final int TREE = 1024;

  /**
   * Copies the set.
   *
   * @throws IllegalArgumentException if an axis is not there, or there is no least or greatest
   *     number since a sequence is empty
   */
  public ReductionProblem {
    axes = Set.copyOf(axes);
    if (axes.isEmpty()) {
      throw new IllegalArgumentException("A reduction along no axis; expected one or more");
    }
    for (int axis : axes) {
      if (axis < 0 || axis >= shape.rank()) {
        throw new IllegalArgumentException(
            "A reduction along axis %s of an array %s".formatted(axis, shape));
      }
      if (shape.extent(axis) == 0 && reduction != Reduction.SUM) {
        throw new IllegalArgumentException(
            "%s along axes %s of an array %s: there are no elements"
                .formatted(reduction, new TreeSet<>(axes), shape));
      }
    }
  }

  /** The shape of the results: reduced axes have extent 1. */
  public Shape outputShape() {
    long[] extents = shape.toArray();
    axes.forEach(axis -> extents[axis] = 1);
    return Shape.of(extents);
  }

  /** The type of the results. */
  public ElementType outputType() {
    return reduction.type(type);
  }

  /** The type in which results are computed. */
  public ElementType computedIn() {
    return reduction == Reduction.MINIMUM || reduction == Reduction.MAXIMUM
        ? type
        : Reduction.computedIn(type);
  }
}
