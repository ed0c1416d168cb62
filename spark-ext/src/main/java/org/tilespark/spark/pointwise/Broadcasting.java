package org.tilespark.spark.pointwise;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;

/**
 * Broadcasting of arrays by numpy's rule: along each axis, arrays of extent 1 repeat their element,
 * and all others must have the same extent.
 *
 * @param extents extents of the result
 * @param repeated for each array the axes along which it repeats its element
 */
public record Broadcasting(Shape extents, List<Set<Integer>> repeated) {
  /** Copies the list. */
  public Broadcasting {
    repeated = repeated.stream().map(Set::copyOf).toList();
  }

  /**
   * The result's extents, and the axes along which each array is repeated.
   *
   * @param kind kind of the arrays, for the names of axes
   * @param names names of the arrays, for the message
   * @param arrays shapes, at least one, of the kind's rank
   * @throws IllegalArgumentException if two extents along an axis differ and neither is 1
   */
  public static Broadcasting of(BlockKind kind, List<String> names, List<Shape> arrays) {
    long[] extents = new long[kind.rank()];
    for (int axis = 0; axis < extents.length; axis++) {
      extents[axis] = extent(kind, names, arrays, axis);
    }
    List<Set<Integer>> repeated =
        arrays.stream()
            .map(
                array ->
                    IntStream.range(0, extents.length)
                        .filter(axis -> array.extent(axis) != extents[axis])
                        .boxed()
                        .collect(Collectors.toSet()))
            .toList();
    return new Broadcasting(Shape.of(extents), repeated);
  }

  private static long extent(BlockKind kind, List<String> names, List<Shape> arrays, int axis) {
    long extent = 1;
    int from = 0; // number of the array that has this extent
    for (int i = 0; i < arrays.size(); i++) {
      long found = arrays.get(i).extent(axis);
      if (found == 1 || found == extent) {
        continue;
      }
      if (extent != 1) {
        throw new IllegalArgumentException(
            "%s has the extents %s and %s %s; along %s they are %s and %s, expected equal or 1"
                .formatted(
                    names.get(from),
                    arrays.get(from).text(),
                    names.get(i),
                    arrays.get(i).text(),
                    kind.offsetColumns().get(axis),
                    extent,
                    found));
      }
      extent = found;
      from = i;
    }
    return extent;
  }
}
