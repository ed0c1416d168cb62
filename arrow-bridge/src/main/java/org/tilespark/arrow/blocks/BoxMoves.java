package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.tilespark.arrow.blocks.BlockPipeline.Part;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.layout.Strides;

/**
 * The steps of a {@link BlockProgram} that only move elements, as copies of boxes from one dense
 * array into another. CPU and device run the same copies.
 */
final class BoxMoves {
  private BoxMoves() {}

  /**
   * The copy of a box of one array to a box of another.
   *
   * @param size extents of the box
   * @param inShape shape of the source array, dense
   * @param from the box's lowest element in the source
   * @param steps steps between elements in the source, along each axis; negative if the axis is
   *     read backwards
   * @param outShape shape of the target array, dense
   * @param to the box's first element in the target
   */
  record Move(Shape size, Shape inShape, long[] from, long[] steps, Shape outShape, long[] to) {
    /** A move of a box whose elements are neighbours in both arrays. */
    Move(Shape size, Shape inShape, long[] from, Shape outShape, long[] to) {
      this(size, inShape, from, ones(size.rank()), outShape, to);
    }

    private static long[] ones(int rank) {
      long[] ones = new long[rank];
      Arrays.fill(ones, 1);
      return ones;
    }

    /**
     * The copy as a transpose problem, from the element {@link #fromElement} of the source to the
     * element {@link #toElement} of the target.
     */
    TransposeProblem problem(int elementBytes) {
      long[] strides = new long[size.rank()];
      Strides dense = Strides.rowMajor(inShape);
      Arrays.setAll(strides, axis -> Math.multiplyExact(steps[axis], dense.stride(axis)));
      return new TransposeProblem(
          size,
          Permutation.identity(size.rank()),
          elementBytes,
          Strides.of(strides),
          Strides.rowMajor(outShape));
    }

    /** Row-major index of the lowest element that is read. */
    long fromElement() {
      return element(inShape, from);
    }

    /** Row-major index of the first element that is written. */
    long toElement() {
      return element(outShape, to);
    }
  }

  /** The row-major position of an element in a dense array. */
  static long element(Shape shape, long[] index) {
    Strides strides = Strides.rowMajor(shape);
    long element = 0;
    for (int axis = 0; axis < index.length; axis++) {
      element += index[axis] * strides.stride(axis);
    }
    return element;
  }

  /** Index of a part's first element in the array, if the part is one contiguous range of it. */
  static OptionalLong contiguous(Part part, Shape array) {
    boolean isInside = false; // an outer axis has a part of more than one element
    for (int axis = 0; axis < array.rank(); axis++) {
      if (isInside && part.size().get(axis) < array.extent(axis)) {
        return OptionalLong.empty();
      }
      isInside |= part.size().get(axis) > 1;
    }
    return OptionalLong.of(element(array, array(part.low())));
  }

  /** The move of a dense part to its place in an array. */
  static Move put(Part part, Shape array) {
    Shape size = shape(part.size());
    return new Move(size, size, new long[size.rank()], array, array(part.low()));
  }

  /** The move of a part of an array to a dense array of its own. */
  static Move take(Part part, Shape array) {
    Shape size = shape(part.size());
    return new Move(size, array, array(part.low()), size, new long[size.rank()]);
  }

  /** The move of the array into a larger one. */
  static Move pad(Shape array, Pad pad) {
    return new Move(array, array, new long[array.rank()], pad.shape(), array(pad.low()));
  }

  /** The move of elements of the array, at even distances, to a dense array. */
  static Move slice(Shape array, Slice slice) {
    Shape size = slice.shape();
    return new Move(
        size,
        array,
        slice.ranges().stream().mapToLong(AxisRange::low).toArray(),
        slice.ranges().stream().mapToLong(AxisRange::step).toArray(),
        size,
        new long[array.rank()]);
  }

  /**
   * The moves of a roll: elements that stay together are one move, so each axis that moves has at
   * most two pieces.
   */
  static List<Move> roll(Shape array, Roll roll) {
    List<Move> moves = new ArrayList<>();
    int rank = array.rank();
    long[][] cuts = new long[rank][]; // where the input is cut along each axis
    int pieces = 1;
    for (int axis = 0; axis < rank; axis++) {
      long extent = array.extent(axis);
      long shift = Math.floorMod(roll.shifts().get(axis), extent);
      cuts[axis] = shift == 0 ? new long[] {0, extent} : new long[] {0, extent - shift, extent};
      pieces *= cuts[axis].length - 1;
    }
    for (int piece = 0; piece < pieces; piece++) {
      long[] from = new long[rank];
      long[] to = new long[rank];
      long[] size = new long[rank];
      int which = piece;
      for (int axis = rank - 1; axis >= 0; axis--) {
        int along = which % (cuts[axis].length - 1);
        which /= cuts[axis].length - 1;
        from[axis] = cuts[axis][along];
        size[axis] = cuts[axis][along + 1] - from[axis];
        to[axis] = Math.floorMod(from[axis] + roll.shifts().get(axis), array.extent(axis));
      }
      moves.add(new Move(Shape.of(size), array, from, array, to));
    }
    return moves;
  }

  /** True if a roll moves nothing. */
  static boolean isIdentity(Shape array, Roll roll) {
    for (int axis = 0; axis < array.rank(); axis++) {
      if (roll.shifts().get(axis) % array.extent(axis) != 0) {
        return false;
      }
    }
    return true;
  }

  private static long[] array(List<Long> numbers) {
    return numbers.stream().mapToLong(Long::longValue).toArray();
  }

  private static Shape shape(List<Long> extents) {
    return Shape.of(array(extents));
  }

  /** True if a permutation moves axes of extent 1 only, so that no element changes its place. */
  static boolean isIdentity(Shape array, Permutation permutation) {
    int[] kept =
        Arrays.stream(permutation.toArray()).filter(axis -> array.extent(axis) > 1).toArray();
    for (int i = 1; i < kept.length; i++) {
      if (kept[i] < kept[i - 1]) {
        return false;
      }
    }
    return true;
  }
}
