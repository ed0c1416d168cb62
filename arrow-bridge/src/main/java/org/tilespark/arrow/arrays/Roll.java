package org.tilespark.arrow.arrays;

import static java.util.stream.Collectors.toSet;

import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.arrow.arrays.BlockProgram.State;

/**
 * Moves every element, cyclically: what was at index i of an axis of extent n is at {@code (i +
 * shift) mod n} after.
 *
 * @param shifts one per axis, of either sign
 */
public record Roll(List<Long> shifts) implements BlockStep {
  /** Copies the list. */
  public Roll {
    shifts = List.copyOf(shifts);
  }

  @Override
  public State after(State before) {
    StepChecks.requireRank(shifts.size(), before.shape());
    return before;
  }

  @Override
  public Set<Integer> whole() {
    return IntStream.range(0, shifts.size())
        .filter(axis -> shifts.get(axis) != 0)
        .boxed()
        .collect(toSet());
  }

  @Override
  public String toString() {
    return "roll by " + shifts;
  }

  @Override
  public void onHost(HostArray array) {
    State before = array.state();
    if (!FourierMoves.isIdentity(before.shape(), this)) {
      array.move(FourierMoves.roll(before.shape(), this), false, before);
    }
  }

  @Override
  public void lower(DeviceSteps device) {
    State before = device.state();
    if (!FourierMoves.isIdentity(before.shape(), this)) {
      device.move(FourierMoves.roll(before.shape(), this), false, before);
    }
  }
}
