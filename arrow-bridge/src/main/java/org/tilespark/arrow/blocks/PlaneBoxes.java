package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.kernels.device.DeviceTransposer;
import org.tilespark.kernels.fourier.FourierBoxes.Direction;
import org.tilespark.kernels.fourier.FourierBoxes.Piece;
import org.tilespark.layout.Shape;

/**
 * Copies between the planes of a staging buffer and an array that interleaves the parts of complex
 * numbers, as boxes of elements of any width. Pure functions.
 */
final class PlaneBoxes {
  private PlaneBoxes() {}

  /**
   * A box inside a larger one.
   *
   * @param low index of its first element in the larger box, one number per axis
   * @param size its extents
   */
  record Inner(List<Long> low, List<Long> size) {
    private long elements() {
      return size.stream().reduce(1L, Math::multiplyExact);
    }
  }

  /** The copies that move pieces of all planes of {@code state}. */
  static List<DeviceTransposer.Part> of(Direction direction, State state, List<Piece> pieces) {
    List<DeviceTransposer.Part> parts = new ArrayList<>();
    for (Piece piece : pieces) {
      long done = 0;
      for (Inner inner : range(piece.size(), piece.start(), piece.count())) {
        for (int p = 0; p < state.planes(); p++) {
          long inStaging = (p == 0 ? piece.re() : piece.im()) + done * state.type().bytes();
          parts.add(part(direction, state, piece, inner, p, inStaging));
        }
        done += inner.elements();
      }
    }
    return parts;
  }

  /**
   * The copy of a box of a plane; in the array, the plane's elements are one of the two parts along
   * a last axis.
   */
  private static DeviceTransposer.Part part(
      Direction direction, State state, Piece piece, Inner inner, int plane, long inStaging) {
    int width = state.type().bytes();
    Shape size = withParts(shape(inner.size()), 1);
    Shape array = withParts(state.shape(), state.planes());
    long[] zeros = new long[size.rank()];
    long[] low = new long[size.rank()];
    Arrays.setAll(
        low,
        axis -> axis == low.length - 1 ? plane : piece.low().get(axis) + inner.low().get(axis));
    if (direction == Direction.PUT) {
      Move move = new Move(size, size, zeros, array, low);
      return new DeviceTransposer.Part(move.problem(width), inStaging, move.toElement() * width);
    }
    Move move = new Move(size, array, low, size, zeros);
    return new DeviceTransposer.Part(move.problem(width), move.fromElement() * width, inStaging);
  }

  private static Shape withParts(Shape shape, int parts) {
    long[] extents = Arrays.copyOf(shape.toArray(), shape.rank() + 1);
    extents[shape.rank()] = parts;
    return Shape.of(extents);
  }

  /**
   * The boxes that together are the elements {@code start} to {@code start + count} of a dense,
   * row-major box, in order: partial rows and slices at both ends, and whole ones between them.
   */
  static List<Inner> range(Shape box, long start, long count) {
    List<Inner> boxes = new ArrayList<>();
    addRange(boxes, box, List.of(), start, count);
    return boxes;
  }

  /** Adds the boxes of a range at index {@code outer} along the first axes. */
  private static void addRange(
      List<Inner> boxes, Shape box, List<Long> outer, long start, long count) {
    int axis = outer.size();
    long each = 1; // elements of one index of the axis
    for (int inner = axis + 1; inner < box.rank(); inner++) {
      each *= box.extent(inner);
    }
    long at = start;
    long end = start + count;
    while (at < end) {
      long index = at / each;
      long whole = at % each == 0 ? (end - at) / each : 0;
      if (whole > 0) {
        boxes.add(slab(box, outer, index, whole));
        at += whole * each;
      } else {
        List<Long> further = new ArrayList<>(outer);
        further.add(index);
        long most = Math.min(end, (index + 1) * each);
        addRange(boxes, box, further, at - index * each, most - at);
        at = most;
      }
    }
  }

  private static Inner slab(Shape box, List<Long> outer, long index, long thickness) {
    List<Long> low = new ArrayList<>(outer);
    List<Long> size = new ArrayList<>();
    outer.forEach(any -> size.add(1L));
    low.add(index);
    size.add(thickness);
    for (int axis = outer.size() + 1; axis < box.rank(); axis++) {
      low.add(0L);
      size.add(box.extent(axis));
    }
    return new Inner(low, size);
  }

  private static Shape shape(List<Long> extents) {
    return Shape.of(extents.stream().mapToLong(Long::longValue).toArray());
  }
}
