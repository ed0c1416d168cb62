package org.tilespark.kernels.reduce;

import java.util.Set;
import java.util.TreeSet;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * A dense, row-major array that is reduced along some of its axes. Each result is the reduction of
 * a sequence: the elements at the result's place along the kept axes, in row-major order of the
 * reduced axes. A place is an index in that sequence.
 *
 * <p>Floating-point numbers are always added in the same order, so that sums have equal bits on
 * host and device and do not depend on how the work is divided: the sequence is cut into pieces of
 * {@link #TREE}, of which the last is filled up with -0, which changes no sum. In each piece,
 * number i is added to number i + 512, then to i + 256 and so on down to i + 1. The sums of the
 * pieces form a sequence that is summed in the same way, until one number is left. FLOAT32 is added
 * in double precision.
 *
 * @param shape shape of the array
 * @param axes the reduced axes; at least one
 * @param type type of the array's elements
 * @param reduction the reduction of each sequence
 */
public record ReductionProblem(
    Shape shape, Set<Integer> axes, ElementType type, Reduction reduction) {
  /** Numbers that are added in one tree; a power of two. */
  public static final int TREE = 1024;

  /**
   * Copies the set.
   *
   * @throws IllegalArgumentException if an axis does not exist, or the least or greatest number of
   *     an empty sequence is asked for
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
