package org.tilespark.arrow.blocks;

import java.io.Serializable;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * One step that a whole array takes in an {@link ArrayProgram}, which runs on parts of the array.
 * Axes are counted from 0, outermost first, in the array that the previous step gives.
 */
public interface ArrayStep extends Serializable {
  /**
   * The array after this step.
   *
   * @param before the array before this step
   * @throws IllegalArgumentException if this step cannot be done on that array, with the reason
   */
  State after(State before);

  /** Programs of the further arrays that this step takes, in order. */
  default List<ArrayProgram> others() {
    return List.of();
  }

  /** This step with the programs {@code others} of its further arrays in place of its own. */
  default ArrayStep withOthers(List<ArrayProgram> others) {
    throw new IllegalArgumentException(this + " takes no further arrays");
  }

  /** Axes along which a part must be whole, in addition to those whose extent changes. */
  default Set<Integer> whole() {
    return Set.of();
  }

  /**
   * Axes along which this step moves, shrinks or drops a part, as {@link #place} says, because it
   * selects elements, combines several into one, or reorders them. Parts need not be whole along
   * them.
   *
   * @param before the whole array before this step
   */
  default Set<Integer> sliced(State before) {
    return Set.of();
  }

  /** True if a part must be a cell of a tiling that this step knows. */
  default boolean takesCells() {
    return false;
  }

  /** True if this step depends on the extents of the whole array. */
  default boolean needsExtents() {
    return true;
  }

  /** True if this step differs between parts of equal size at different places. */
  default boolean dependsOnPlace() {
    return true;
  }

  /** True if a device needs cuFFT for this step. */
  default boolean needsTransforms() {
    return false;
  }

  /**
   * True if a device can run this step for many small arrays at once, which then share launches and
   * copies.
   */
  default boolean isBatched() {
    return true;
  }

  /** True if this step only takes some of the elements, or moves parts to other places. */
  default boolean isSelection() {
    return false;
  }

  /**
   * The order of the result's axes: output axis {@code i} is input axis {@code axes(rank).axis(i)}.
   */
  default Permutation axes(int rank) {
    return Permutation.identity(rank);
  }

  /** The permutation that this step consists of, if it does nothing else. */
  default Optional<Permutation> asPermutation() {
    return Optional.empty();
  }

  /** This step as a program on each element, if it reads nothing but that element. */
  default Optional<ElementwiseProgram> ofElements() {
    return Optional.empty();
  }

  /** The slice that this step consists of, if it does nothing else. */
  default Optional<Slice> asSlice() {
    return Optional.empty();
  }

  /**
   * The shape of full blocks after this step.
   *
   * @param before the whole array before this step
   * @param blocks the shape of full blocks before this step
   */
  default Shape blockShape(State before, Shape blocks) {
    Permutation axes = axes(blocks.rank());
    Shape extents = axes.apply(before.shape());
    Shape after = after(before).shape();
    long[] shape = axes.apply(blocks).toArray();
    for (int axis = 0; axis < shape.length; axis++) {
      shape[axis] = shape[axis] >= extents.extent(axis) ? after.extent(axis) : shape[axis];
    }
    return Shape.of(shape);
  }

  /**
   * The elements along an axis before this step from which the elements of a range are computed;
   * empty if there are none.
   *
   * @param before the whole array before this step
   * @param axis an axis before this step
   * @param after elements along that axis after this step
   */
  default Optional<AxisRange> needed(State before, int axis, AxisRange after) {
    return Optional.of(
        wholeAxes(before).contains(axis) ? AxisRange.all(before.shape().extent(axis)) : after);
  }

  /**
   * Axes along which a part must be whole: those of {@link #whole}, and those whose extent changes,
   * unless they are sliced.
   *
   * @param before the whole array before this step
   */
  default Set<Integer> wholeAxes(State before) {
    Set<Integer> all = new TreeSet<>(whole());
    Shape after = after(before).shape();
    Permutation moved = axes(after.rank());
    for (int axis = 0; axis < after.rank(); axis++) {
      if (after.extent(axis) != before.shape().extent(moved.axis(axis))) {
        all.add(moved.axis(axis));
      }
    }
    all.removeAll(sliced(before));
    return all;
  }

  /**
   * True if the result of this step has elements from a part.
   *
   * @param before the whole array before this step
   * @param part the part's box before this step
   */
  default boolean keeps(State before, Box part) {
    return true;
  }

  /**
   * The box of a part of the whole array after this step.
   *
   * @param before the whole array before this step
   * @param part the part's box before this step; this step {@link #keeps} elements of it
   */
  default Box place(State before, Box part) {
    return part;
  }

  /**
   * This step for a part of the whole array.
   *
   * @param before the whole array before this step
   * @param part the part's box before this step
   * @param given values that come with the part
   */
  BlockStep onPart(State before, Box part, Given given);

  /**
   * Values that come with a part of an array.
   *
   * @param trend the numbers of a trend; null if there are none
   * @param others for each of {@link #others}, the program for its part at the same place
   */
  record Given(double[] trend, List<BlockProgram> others) {
    /** Copies the list. */
    public Given {
      others = List.copyOf(others);
    }
  }
}
