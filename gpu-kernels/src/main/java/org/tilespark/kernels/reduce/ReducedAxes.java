package org.tilespark.kernels.reduce;

import java.util.ArrayList;
import java.util.List;

/**
 * Layout of a reduction's elements: the axes that are kept and those that are reduced; neighbouring
 * axes of the same kind are fused, and axes of extent 1 are dropped. Immutable.
 *
 * @param kept the axes that are kept, outermost first
 * @param reduced the axes that are reduced, outermost first
 */
public record ReducedAxes(List<Axis> kept, List<Axis> reduced) {
  /**
   * An axis, or neighbouring axes fused into one.
   *
   * @param extent length of the axis
   * @param stride elements from one index to the next
   */
  public record Axis(long extent, long stride) {}

  /** Copies the lists. */
  public ReducedAxes {
    kept = List.copyOf(kept);
    reduced = List.copyOf(reduced);
  }

  /** The kept and reduced axes of a problem. */
  public static ReducedAxes of(ReductionProblem problem) {
    List<Axis> kept = new ArrayList<>();
    List<Axis> reduced = new ArrayList<>();
    List<Axis> before = null;
    long stride = 1;
    for (int axis = problem.shape().rank() - 1; axis >= 0; axis--) {
      long extent = problem.shape().extent(axis);
      if (extent == 1) {
        continue;
      }
      List<Axis> now = problem.axes().contains(axis) ? reduced : kept;
      if (now == before) {
        Axis inner = now.remove(0);
        now.add(0, new Axis(extent * inner.extent(), inner.stride()));
      } else {
        now.add(0, new Axis(extent, stride));
      }
      before = now;
      stride *= extent;
    }
    return new ReducedAxes(kept, reduced);
  }

  /** How many indices some axes have together. */
  public static long count(List<Axis> axes) {
    return axes.stream().mapToLong(Axis::extent).reduce(1, (a, b) -> a * b);
  }

  /** The offset of an index along some axes, counted in row-major order, in elements. */
  public static long offset(List<Axis> axes, long index) {
    long left = index;
    long offset = 0;
    for (int i = axes.size() - 1; i > 0; i--) {
      Axis axis = axes.get(i);
      offset += left % axis.extent() * axis.stride();
      left /= axis.extent();
    }
    return axes.isEmpty() ? 0 : offset + left * axes.get(0).stride();
  }

  /**
   * True if neighbours along the last of these axes are adjacent in memory; false if there are no
   * axes.
   */
  public boolean isInnermost(List<Axis> axes) {
    return !axes.isEmpty() && axes.get(axes.size() - 1).stride() == 1;
  }

  /** The number of consecutive indices, from this one on, whose elements are equally spaced. */
  public static long runLength(List<Axis> axes, long index) {
    if (axes.isEmpty()) {
      return 1;
    }
    long extent = axes.get(axes.size() - 1).extent();
    return extent - index % extent;
  }
}
