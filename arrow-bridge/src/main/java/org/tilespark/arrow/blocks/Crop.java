package org.tilespark.arrow.blocks;

import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;
import org.tilespark.layout.Shape;

/**
 * Takes a part of the array.
 *
 * @param shape of the part
 * @param low the part's first element, one number per axis
 */
public record Crop(Shape shape, List<Long> low) implements BlockStep {
  /** Copies the list. */
  public Crop {
    low = List.copyOf(low);
  }

  @Override
  public State after(State before) {
    StepChecks.requireInside(shape, low, before.shape());
    return new State(shape, before.type(), before.isComplex());
  }

  @Override
  public Box place(State before, Box part) {
    return StepChecks.grown(part, StepChecks.changed(before.shape(), shape), shape);
  }

  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new Crop(Shape.of(place(before, part).sizes()), low);
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(
        new Crop(StepChecks.behindEachOther(count, shape), StepChecks.behindZero(low)));
  }

  @Override
  public void onHost(HostArray array) {
    array.move(List.of(BoxMoves.crop(array.state().shape(), this)), false, after(array.state()));
  }

  @Override
  public void lower(DeviceSteps device) {
    State before = device.state();
    if (!shape.equals(before.shape())) {
      device.move(List.of(BoxMoves.crop(before.shape(), this)), false, after(before));
    }
  }
}
