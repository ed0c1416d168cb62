package org.tilespark.arrow.blocks;

import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;
import org.tilespark.layout.Shape;

/** What several steps check and compute. */
final class StepChecks {
  private StepChecks() {}

  /** A part that is as large as the whole along some axes. */
  static Box grown(Box part, List<Integer> axes, Shape whole) {
    long[] sizes = part.sizes();
    axes.forEach(axis -> sizes[axis] = whole.extent(axis));
    return Box.at(part.offset(), sizes);
  }

  static void requireRank(int rank, Shape shape) {
    if (rank != shape.rank()) {
      throw new IllegalArgumentException(
          "it names " + rank + " axes, the array has " + shape.rank());
    }
  }

  static void requireVectors(String what, List<double[]> vectors, State state) {
    requireRank(vectors.size(), state.shape());
    for (int axis = 0; axis < vectors.size(); axis++) {
      if (vectors.get(axis).length != state.shape().extent(axis)) {
        throw new IllegalArgumentException(
            "the %s vector of axis %s has %s numbers, the axis %s"
                .formatted(what, axis, vectors.get(axis).length, state.shape().extent(axis)));
      }
    }
  }

  static void requireInside(Shape part, List<Long> low, Shape whole) {
    requireRank(part.rank(), whole);
    requireRank(low.size(), whole);
    for (int axis = 0; axis < low.size(); axis++) {
      if (part.extent(axis) < 1
          || low.get(axis) < 0
          || low.get(axis) > whole.extent(axis) - part.extent(axis)) {
        throw new IllegalArgumentException(
            part + " from " + low + " on does not lie inside " + whole);
      }
    }
  }
}
