package org.tilespark.arrow.blocks;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.Shape;

/**
 * Makes the array a part of a larger one, whose other elements come from other sources. Parts keep
 * their content and get new places.
 *
 * @param shape shape of the larger array
 * @param low index of the array's first element in the larger array, one number per axis
 */
public record Embed(Shape shape, List<Long> low) implements ArrayStep {
  /** Copies the list. */
  public Embed {
    low = List.copyOf(low);
  }

  @Override
  public State after(State before) {
    StepChecks.requireInside(before.shape(), low, shape);
    return new State(shape, before.type(), before.isComplex());
  }

  @Override
  public Set<Integer> sliced(State before) {
    return IntStream.range(0, low.size())
        .filter(axis -> low.get(axis) != 0 || shape.extent(axis) != before.shape().extent(axis))
        .boxed()
        .collect(Collectors.toSet());
  }

  @Override
  public boolean isSelection() {
    return true;
  }

  @Override
  public Optional<AxisRange> needed(State before, int axis, AxisRange after) {
    long from = low.get(axis);
    return after.within(from, from + before.shape().extent(axis)).map(AxisRange.Piece::range);
  }

  @Override
  public Shape blockShape(State before, Shape blocks) {
    return blocks;
  }

  @Override
  public Box place(State before, Box part) {
    long[] offset = part.offset();
    Arrays.setAll(offset, axis -> offset[axis] + low.get(axis));
    return Box.at(offset, part.sizes());
  }

  /** A step that changes nothing. */
  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new Slice(Arrays.stream(part.sizes()).mapToObj(AxisRange::all).toList());
  }

  /** The text in EXPLAIN: {@code "at [0, 100] of (50, 200)"}. */
  @Override
  public String toString() {
    return "at " + low + " of " + shape;
  }
}
