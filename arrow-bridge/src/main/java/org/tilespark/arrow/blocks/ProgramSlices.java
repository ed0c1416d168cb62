package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * A plane that is cut into slices along an axis that no step of its program needs whole. Each slice
 * is processed separately: one is uploaded while another is computed and a third is downloaded, and
 * the device need not hold the whole plane.
 *
 * <p>Steps turn a slice of the input into a slice of the output, along the axis that corresponds to
 * the cut one. On the device a slice is a dense array of its own. In host memory it is a {@link
 * Region} of the plane on both sides: contiguous if its axis is the outermost, otherwise rows with
 * gaps, which the device's copy engine gathers and scatters.
 *
 * <pre>
 *     input (4, 6), axis 0, 2 thick      output (6, 4), axis 1
 *     aaaaaa                             aabb
 *     aaaaaa                             aabb
 *     bbbbbb                             aabb   6 rows of 2, pitch 4
 *     bbbbbb   contiguous                ...
 * </pre>
 *
 * @param program the steps on the plane
 * @param axis the input axis that is cut
 * @param thickness extent of a slice along the axis; the last slice may be smaller
 */
record ProgramSlices(ArrayProgram program, int axis, long thickness) {
  /**
   * The extent of thick slices is a multiple of this many elements, so that their rows stay
   * aligned.
   */
  private static final long QUANTUM = 64;

  /**
   * The cut whose slices have at most {@code mostBytes} bytes before, between and after the steps:
   * along the axis with the longest rows in host memory, where the shorter of input and output rows
   * counts. Empty if even slices of thickness 1 are larger along every axis.
   *
   * @param plane the steps on the plane, which holds values of one kind
   */
  static Optional<ProgramSlices> cut(BlockProgram plane, long mostBytes) {
    ArrayProgram program = ofWhole(plane);
    Set<Integer> whole = uncut(program);
    ProgramSlices best = null;
    long longest = -1;
    for (int axis = 0; axis < plane.shape().rank(); axis++) {
      long extent = plane.shape().extent(axis);
      long thickness =
          whole.contains(axis) ? 0 : thickness(extent, mostBytes / (planeBytes(plane) / extent));
      if (thickness > 0) {
        ProgramSlices slices = new ProgramSlices(program, axis, thickness);
        BatchPiece first = slices.slice(0);
        long rowBytes = Math.min(first.from().rowBytes(), first.to().rowBytes());
        if (rowBytes > longest) {
          best = slices;
          longest = rowBytes;
        }
      }
    }
    return Optional.ofNullable(best);
  }

  private static ArrayProgram ofWhole(BlockProgram plane) {
    return new ArrayProgram(
        plane.shape(), plane.type(), false, List.<ArrayStep>copyOf(plane.steps()));
  }

  /** Input axes along which no plane is cut. */
  private static Set<Integer> uncut(ArrayProgram program) {
    ArrayProgram.CutAxes axes = program.cutAxes();
    Set<Integer> all = new HashSet<>(axes.whole());
    all.addAll(axes.sliced());
    return all;
  }

  /** Bytes of a plane where a program makes it largest. */
  static long planeBytes(BlockProgram plane) {
    return plane.states().stream().mapToLong(State::planeBytes).max().orElseThrow();
  }

  /**
   * Bytes of the smallest slice into which a plane can be cut; those of the whole plane if it
   * cannot be cut.
   */
  static long thinnestBytes(BlockProgram plane) {
    long bytes = planeBytes(plane);
    Set<Integer> whole = uncut(ofWhole(plane));
    long most = 1;
    for (int axis = 0; axis < plane.shape().rank(); axis++) {
      most = Math.max(most, whole.contains(axis) ? 1 : plane.shape().extent(axis));
    }
    return bytes / most;
  }

  /** Count of slices. */
  int count() {
    long extent = program.extents().require().extent(axis);
    return Math.toIntExact((extent + thickness - 1) / thickness);
  }

  /** Slice {@code index}, in the order of the axis. */
  BatchPiece slice(int index) {
    Shape shape = program.extents().require();
    long[] low = new long[shape.rank()];
    long[] size = shape.toArray();
    low[axis] = index * thickness;
    size[axis] = Math.min(thickness, shape.extent(axis) - low[axis]);
    ArrayProgram.Part slice = program.binding().on(List.of(Box.at(low, size)), null);
    State result = program.output();
    int toAxis = program.permutation().inverse().axis(axis);
    return new BatchPiece(
        slice.program(),
        1,
        region(program.type(), shape, axis, low[axis], size[axis]),
        region(result.type(), result.shape(), toAxis, low[axis], size[axis]));
  }

  /** All slices. */
  List<BatchPiece> slices() {
    List<BatchPiece> slices = new ArrayList<>();
    for (int i = 0; i < count(); i++) {
      slices.add(slice(i));
    }
    return slices;
  }

  /** The region of a dense array with the indices {@code [start, start + extent)} along an axis. */
  private static Region region(ElementType type, Shape shape, int along, long start, long extent) {
    long inner = type.bytes();
    for (int i = along + 1; i < shape.rank(); i++) {
      inner *= shape.extent(i);
    }
    long outer = 1;
    for (int i = 0; i < along; i++) {
      outer *= shape.extent(i);
    }
    long pitchBytes = shape.extent(along) * inner;
    return extent == shape.extent(along)
        ? Region.of(0, outer * pitchBytes)
        : new Region(start * inner, extent * inner, pitchBytes, outer);
  }

  /** Thickness of about equally thick slices, each at most {@code mostThick}; 0 if that is 0. */
  private static long thickness(long extent, long mostThick) {
    long most = Math.min(extent, mostThick);
    if (most == 0) {
      return 0;
    }
    long quantum = most < extent && most >= QUANTUM ? QUANTUM : 1;
    most -= most % quantum;
    long count = (extent + most - 1) / most;
    long even = (extent + count - 1) / count;
    return (even + quantum - 1) / quantum * quantum;
  }
}
