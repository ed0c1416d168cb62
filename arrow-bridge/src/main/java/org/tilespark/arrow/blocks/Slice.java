package org.tilespark.arrow.blocks;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toSet;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Takes elements at even distances along each axis, in ascending or descending order, as numpy's
 * basic slicing. Each part of a whole array keeps its selected elements; parts without any are
 * dropped.
 *
 * @param ranges the elements that are taken along each axis
 */
public record Slice(List<AxisRange> ranges) implements BlockStep {
  /** Copies the list. */
  public Slice {
    ranges = List.copyOf(ranges);
  }

  /** The extents of the result. */
  public Shape shape() {
    return Shape.of(ranges.stream().mapToLong(AxisRange::count).toArray());
  }

  /** This slice and then {@code next}, as one. */
  Slice then(Slice next) {
    return new Slice(
        IntStream.range(0, ranges.size())
            .mapToObj(axis -> ranges.get(axis).then(next.ranges.get(axis)))
            .toList());
  }

  /** The slice that, taken before a permutation, selects the same elements as this one after it. */
  Slice before(Permutation permutation) {
    return new Slice(
        IntStream.range(0, ranges.size())
            .mapToObj(axis -> ranges.get(permutation.inverse().axis(axis)))
            .toList());
  }

  @Override
  public State after(State before) {
    StepChecks.requireRank(ranges.size(), before.shape());
    for (int axis = 0; axis < ranges.size(); axis++) {
      if (ranges.get(axis).high() >= before.shape().extent(axis)) {
        throw new IllegalArgumentException(
            ranges + " does not lie inside " + before.shape() + " along axis " + axis);
      }
    }
    return new State(shape(), before.type(), before.isComplex());
  }

  @Override
  public Set<Integer> sliced(State before) {
    return IntStream.range(0, ranges.size())
        .filter(axis -> !ranges.get(axis).isAll(before.shape().extent(axis)))
        .boxed()
        .collect(toSet());
  }

  @Override
  public boolean dependsOnPlace() {
    return true;
  }

  @Override
  public Optional<Slice> asSlice() {
    return Optional.of(this);
  }

  /** The shape of blocks after this step; if they differ in size, the largest possible one. */
  @Override
  public Shape blockShape(State before, Shape blocks) {
    long[] shape = new long[ranges.size()];
    for (int axis = 0; axis < shape.length; axis++) {
      long block = blocks.extent(axis);
      AxisRange range = ranges.get(axis);
      shape[axis] = range.evenPieces(block).orElse(Math.min(block, range.count()));
    }
    return Shape.of(shape);
  }

  @Override
  public boolean isSelection() {
    return true;
  }

  @Override
  public Optional<AxisRange> needed(State before, int axis, AxisRange after) {
    return Optional.of(ranges.get(axis).then(after));
  }

  /** The piece of this slice's range along an axis that is within a part of the array. */
  private Optional<AxisRange.Piece> piece(int axis, Box part) {
    return ranges.get(axis).within(part.low(axis), part.high(axis));
  }

  @Override
  public boolean keeps(State before, Box part) {
    return IntStream.range(0, ranges.size()).allMatch(axis -> piece(axis, part).isPresent());
  }

  @Override
  public Box place(State before, Box part) {
    long[] low = new long[ranges.size()];
    long[] size = new long[ranges.size()];
    for (int axis = 0; axis < low.length; axis++) {
      AxisRange.Piece piece = piece(axis, part).orElseThrow();
      low[axis] = piece.first();
      size[axis] = piece.range().count();
    }
    return Box.at(low, size);
  }

  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new Slice(
        IntStream.range(0, ranges.size())
            .mapToObj(axis -> piece(axis, part).orElseThrow().range())
            .toList());
  }

  @Override
  public boolean isPlanewise() {
    return true;
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    List<AxisRange> all = new ArrayList<>(List.of(AxisRange.all(count)));
    all.addAll(ranges);
    return Optional.of(new Slice(all));
  }

  @Override
  public HostStep onHost(State before) {
    if (sliced(before).isEmpty()) {
      return array -> {};
    }
    State after = after(before);
    List<BoxMoves.Move> moves = List.of(BoxMoves.slice(before.shape(), this));
    return array -> array.move(moves, false, after);
  }

  @Override
  public void lower(DeviceSteps device) {
    State before = device.state();
    if (!sliced(before).isEmpty()) {
      device.move(List.of(BoxMoves.slice(before.shape(), this)), false, after(before));
    }
  }

  /** The text in EXPLAIN: {@code "slice 0:10, 7::-1"}. */
  @Override
  public String toString() {
    return ranges.stream().map(AxisRange::toString).collect(joining(", ", "slice ", ""));
  }
}
