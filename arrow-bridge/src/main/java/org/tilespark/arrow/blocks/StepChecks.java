package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.Box;
import org.tilespark.layout.Shape;

/** Checks and computations that several steps share. */
final class StepChecks {
  private StepChecks() {}

  /** Axes whose extent changes. */
  static List<Integer> changed(Shape before, Shape after) {
    return IntStream.range(0, after.rank())
        .filter(axis -> after.extent(axis) != before.extent(axis))
        .boxed()
        .toList();
  }

  /** The part extended to the whole array along some axes. */
  static Box grown(Box part, List<Integer> axes, Shape whole) {
    long[] sizes = part.sizes();
    axes.forEach(axis -> sizes[axis] = whole.extent(axis));
    return Box.at(part.offset(), sizes);
  }

  /** A shape with one more axis in front. */
  static Shape behindEachOther(long count, Shape shape) {
    long[] extents = new long[shape.rank() + 1];
    extents[0] = count;
    System.arraycopy(shape.toArray(), 0, extents, 1, shape.rank());
    return Shape.of(extents);
  }

  /** The numbers per axis, with a 0 for a new leading axis. */
  static List<Long> behindZero(List<Long> numbers) {
    List<Long> all = new ArrayList<>(List.of(0L));
    all.addAll(numbers);
    return all;
  }

  /** The numbers of axes after a new leading axis is added. */
  static List<Integer> behindOneMore(List<Integer> axes) {
    return axes.stream().map(axis -> axis + 1).toList();
  }

  /** The sections of a whole array's vectors along some axes that belong to a part. */
  static List<double[]> cut(List<Integer> axes, List<double[]> vectors, Box part) {
    List<double[]> all = new ArrayList<>();
    for (int v = 0; v < axes.size(); v++) {
      int axis = axes.get(v);
      all.add(
          Arrays.copyOfRange(
              vectors.get(v), Math.toIntExact(part.low(axis)), Math.toIntExact(part.high(axis))));
    }
    return all;
  }

  /** Checks that there is a vector for each of some axes, as long as the axis. */
  static void requireVectors(List<Integer> axes, List<double[]> vectors, Shape shape) {
    for (int v = 0; v < Math.max(axes.size(), vectors.size()); v++) {
      if (v >= axes.size()
          || v >= vectors.size()
          || vectors.get(v).length != shape.extent(axes.get(v))) {
        throw new IllegalArgumentException(
            "vectors of %s numbers along axes %s of %s"
                .formatted(vectors.stream().map(vector -> vector.length).toList(), axes, shape));
      }
    }
  }

  /** The state of the result of a program that has one output and takes an array and others. */
  static State computed(ElementwiseProgram program, State first, List<State> others) {
    List<State> all = new ArrayList<>(List.of(first));
    all.addAll(others);
    requireRank(program.rank(), first.shape());
    if (program.inputs().size() != all.size() || program.outputs().size() != 1) {
      throw new IllegalArgumentException(
          "it takes %s arrays and gives %s; there are %s and 1"
              .formatted(program.inputs().size(), program.outputs().size(), all.size()));
    }
    for (int i = 0; i < all.size(); i++) {
      ElementwiseProgram.Input input = program.inputs().get(i);
      State found = all.get(i);
      State expected = new State(input.shape(first.shape()), input.type(), input.isComplex());
      if (!found.equals(expected)) {
        throw new IllegalArgumentException(
            "array %s is %s; expected %s".formatted(i, found, expected));
      }
    }
    ElementwiseProgram.Output output = program.outputs().get(0);
    return new State(first.shape(), program.types().get(output.real()), output.isComplex());
  }

  static void requireRank(int rank, Shape shape) {
    if (rank != shape.rank()) {
      throw new IllegalArgumentException(
          "it names " + rank + " axes, the array has " + shape.rank());
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
