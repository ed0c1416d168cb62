package org.tilespark.kernels.transpose;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.tilespark.layout.Strides;

/**
 * The simplest form of a transpose: its axes in output order, each with its strides in input and
 * output. Axes of extent 1 are dropped, and neighbouring axes are fused if one stride describes
 * them in the input and one in the output, so dense axes that stay in order become one. Immutable.
 *
 * @param elementBytes width of one element
 * @param axes output axes, outermost first; empty for a single element
 */
public record Move(int elementBytes, List<Axis> axes) {
  /** Copies the list. */
  public Move {
    axes = List.copyOf(axes);
  }

  /**
   * The simplest form of {@code problem}, which must not be empty.
   *
   * @throws IllegalArgumentException if the problem has no elements
   */
  public static Move of(TransposeProblem problem) {
    if (problem.bytes() == 0) {
      throw new IllegalArgumentException("No elements to move in " + problem);
    }
    Strides in = problem.inStrides().permute(problem.permutation());
    Strides out = problem.outStrides();
    List<Axis> fused = new ArrayList<>();
    for (int i = 0; i < in.rank(); i++) {
      long extent = problem.shape().extent(problem.permutation().axis(i));
      if (extent == 1) {
        continue;
      }
      Axis axis = new Axis(extent, in.stride(i), out.stride(i));
      int last = fused.size() - 1;
      if (last >= 0
          && fused.get(last).inStride() == extent * axis.inStride()
          && fused.get(last).outStride() == extent * axis.outStride()) {
        fused.set(
            last, new Axis(fused.get(last).extent() * extent, axis.inStride(), axis.outStride()));
      } else {
        fused.add(axis);
      }
    }
    return new Move(problem.elementBytes(), fused);
  }

  /**
   * True if all elements are one contiguous range in the input and in the output, in the same
   * order.
   */
  public boolean isCopy() {
    return axes.isEmpty() || (axes.size() == 1 && runAxis().isPresent());
  }

  /** True if an axis of the input is read backwards. */
  public boolean isReversed() {
    return axes.stream().anyMatch(axis -> axis.inStride() < 0);
  }

  /** The index of the axis that is contiguous in input and output. */
  public OptionalInt runAxis() {
    return first(axis -> axis.inStride() == 1 && axis.outStride() == 1);
  }

  /** The index of the axis that is contiguous in the input. */
  public OptionalInt inInnermost() {
    return first(axis -> axis.inStride() == 1);
  }

  /** The index of the axis that is contiguous in the output. */
  public OptionalInt outInnermost() {
    return first(axis -> axis.outStride() == 1);
  }

  private OptionalInt first(Predicate<Axis> which) {
    return IntStream.range(0, axes.size()).filter(i -> which.test(axes.get(i))).findFirst();
  }

  /** The axes except those at the given indices. */
  public List<Axis> without(int... places) {
    List<Axis> rest = new ArrayList<>();
    for (int i = 0; i < axes.size(); i++) {
      boolean left = false;
      for (int place : places) {
        left |= place == i;
      }
      if (!left) {
        rest.add(axes.get(i));
      }
    }
    return rest;
  }

  /**
   * This move with wider elements: {@code axis} becomes part of the element, which must be possible
   * ({@link #absorbs}).
   */
  public Move absorb(int axis) {
    long extent = axes.get(axis).extent();
    List<Axis> rest = new ArrayList<>();
    for (Axis each : without(axis)) {
      rest.add(new Axis(each.extent(), each.inStride() / extent, each.outStride() / extent));
    }
    return new Move(Math.toIntExact(elementBytes * extent), rest);
  }

  /**
   * This move in units of {@code bytes}, a multiple of the element's width which must divide all
   * strides except 1, and the extent of the axis that is contiguous in input and output; this axis
   * must exist.
   */
  public Move inUnits(int bytes) {
    int elements = bytes / elementBytes;
    int run = runAxis().orElseThrow();
    List<Axis> units = new ArrayList<>();
    for (int i = 0; i < axes.size(); i++) {
      Axis axis = axes.get(i);
      units.add(
          i == run
              ? new Axis(axis.extent() / elements, 1, 1)
              : new Axis(axis.extent(), axis.inStride() / elements, axis.outStride() / elements));
    }
    return new Move(bytes, units);
  }

  /**
   * True if {@code axis} may become part of the element: all other axes' strides are multiples of
   * its extent.
   */
  public boolean absorbs(int axis) {
    long extent = axes.get(axis).extent();
    return without(axis).stream()
        .allMatch(each -> each.inStride() % extent == 0 && each.outStride() % extent == 0);
  }
}
