package org.tilespark.arrow.blocks;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;
import org.tilespark.layout.Shape;

/**
 * Puts the array into a larger one of zeros.
 *
 * @param shape shape of the larger array
 * @param low index of the array's first element in the larger array, one number per axis
 */
public record Pad(Shape shape, List<Long> low) implements BlockStep {
  /** Copies the list. */
  public Pad {
    low = List.copyOf(low);
  }

  /** A step that adds zeros after the last element of each axis. */
  public Pad(Shape shape) {
    this(shape, Collections.nCopies(shape.rank(), 0L));
  }

  @Override
  public State after(State before) {
    StepChecks.requireInside(before.shape(), low, shape);
    return new State(shape, before.type(), before.isComplex());
  }

  @Override
  public Box place(State before, Box part) {
    return StepChecks.grown(part, StepChecks.changed(before.shape(), shape), shape);
  }

  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new Pad(Shape.of(place(before, part).sizes()), low);
  }

  @Override
  public String toString() {
    return "pad to " + shape;
  }

  @Override
  public boolean isPlanewise() {
    return true;
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(
        new Pad(StepChecks.behindEachOther(count, shape), StepChecks.behindZero(low)));
  }

  @Override
  public HostStep onHost(State before) {
    State after = after(before);
    List<BoxMoves.Move> moves = List.of(BoxMoves.pad(before.shape(), this));
    return array -> array.move(moves, true, after);
  }

  @Override
  public void lower(DeviceSteps device) {
    State before = device.state();
    if (!shape.equals(before.shape())) {
      device.move(List.of(BoxMoves.pad(before.shape(), this)), true, after(before));
    }
  }
}
