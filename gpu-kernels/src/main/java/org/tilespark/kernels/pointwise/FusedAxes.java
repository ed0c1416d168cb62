package org.tilespark.kernels.pointwise;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tilespark.layout.Shape;

/**
 * The axes of a program's arrays, with neighbouring axes fused where the program does not
 * distinguish them: it reads no place or vector along them, and each input is broadcast along all
 * of them or none. A program without places, vectors and broadcasting has one axis. Immutable.
 */
public final class FusedAxes {
  private final int[] groups; // fused axis of each axis, from 0
  private final int rank;

  private FusedAxes(int[] groups, int rank) {
    this.groups = groups;
    this.rank = rank;
  }

  /** The fused axes of a program's arrays. */
  public static FusedAxes of(ElementwiseProgram program) {
    List<Integer> apart = new ArrayList<>(program.vectors());
    program.code().stream()
        .filter(Instruction.Place.class::isInstance)
        .forEach(place -> apart.add(((Instruction.Place) place).axis()));
    int[] groups = new int[program.rank()];
    for (int axis = 1; axis < groups.length; axis++) {
      int now = axis;
      boolean fused =
          !apart.contains(axis)
              && !apart.contains(axis - 1)
              && program.inputs().stream()
                  .allMatch(
                      input ->
                          input.broadcast().contains(now) == input.broadcast().contains(now - 1));
      groups[axis] = groups[axis - 1] + (fused ? 0 : 1);
    }
    return new FusedAxes(groups, groups[groups.length - 1] + 1);
  }

  /** The number of fused axes. */
  public int rank() {
    return rank;
  }

  /** The fused axis that an axis is part of. */
  public int of(int axis) {
    return groups[axis];
  }

  /** The extents of the fused axes in an array of a shape. */
  public long[] extents(Shape shape) {
    long[] extents = new long[rank];
    Arrays.fill(extents, 1);
    for (int axis = 0; axis < groups.length; axis++) {
      extents[groups[axis]] *= shape.extent(axis);
    }
    return extents;
  }

  /**
   * The strides of an input along the fused axes, in elements; 0 along an axis on which the input
   * is broadcast.
   *
   * @param extents extents as {@link #extents} gives them
   */
  public long[] strides(ElementwiseProgram.Input input, long[] extents) {
    boolean[] broadcast = new boolean[rank];
    input.broadcast().forEach(axis -> broadcast[groups[axis]] = true);
    long[] strides = new long[rank];
    long stride = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
      if (!broadcast[axis]) {
        strides[axis] = stride;
        stride *= extents[axis];
      }
    }
    return strides;
  }
}
