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
 * array into another. Both twins run the same ones.
 */
final class BoxMoves {
  private BoxMoves() {}

  /**
   * A box of one array that becomes a box of another.
   *
   * @param size its extents
   * @param inShape the array it comes from, dense
   * @param from its lowest element there
   * @param steps from one element there to the next, along each axis; negative if the axis is read
   *     backwards
   * @param outShape the array it goes to, dense
   * @param to its first element there
   */
  record Move(Shape size, Shape inShape, long[] from, long[] steps, Shape outShape, long[] to) {
    /** A box whose elements are neighbours in both arrays. */
    Move(Shape size, Shape inShape, long[] from, Shape outShape, long[] to) {
      this(size, inShape, from, ones(size.rank()), outShape, to);
    }

    private static long[] ones(int rank) {
      long[] ones = new long[rank];
      Arrays.fill(ones, 1);
      return ones;
    }

    /** The copy, between addresses that are {@link #fromElement} and {@link #toElement} further. */
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

    /** Index of the lowest element read. */
    long fromElement() {
      return element(inShape, from);
    }

    /** Index of the first element written. */
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

  /** Index of a part's first element, if the part is one contiguous range of the array. */
  static OptionalLong contiguous(Part part, Shape array) {
    boolean isInside = false; // an axis along which the part is not one element thick
    for (int axis = 0; axis < array.rank(); axis++) {
      if (isInside && part.size().get(axis) < array.extent(axis)) {
        return OptionalLong.empty();
      }
      isInside |= part.size().get(axis) > 1;
    }
    return OptionalLong.of(element(array, array(part.low())));
  }

  /** A dense part that goes into an array. */
  static Move put(Part part, Shape array) {
    Shape size = shape(part.size());
    return new Move(size, size, new long[size.rank()], array, array(part.low()));
  }

  /** A part of an array that becomes dense. */
  static Move take(Part part, Shape array) {
    Shape size = shape(part.size());
    return new Move(size, array, array(part.low()), size, new long[size.rank()]);
  }

  /** The array into a larger one. */
  static Move pad(Shape array, Pad pad) {
    return new Move(array, array, new long[array.rank()], pad.shape(), array(pad.low()));
  }

  /** Elements of the array at even distances. */
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

  /** A roll: what stays together goes together, at most two pieces for each axis that moves. */
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
