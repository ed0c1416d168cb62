package org.tilespark.arrow.blocks;

import static java.util.stream.Collectors.toSet;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.BlockProgram.State;

/**
 * Moves every element cyclically: the element at index i of an axis of extent n moves to {@code (i
 * + shift) mod n}.
 *
 * @param shifts shift along each axis; may be negative
 */
public record Roll(List<Long> shifts) implements BlockStep {
  /** Copies the list. */
  public Roll {
    shifts = List.copyOf(shifts);
  }

  /** A roll with these shifts, one for each axis. */
  public static Roll by(long... shifts) {
    return new Roll(Arrays.stream(shifts).boxed().toList());
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
  public boolean isPlanewise() {
    return true;
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(new Roll(StepChecks.behindZero(shifts)));
  }

  @Override
  public HostStep onHost(State before) {
    if (BoxMoves.isIdentity(before.shape(), this)) {
      return array -> {};
    }
    List<BoxMoves.Move> moves = BoxMoves.roll(before.shape(), this);
    return array -> array.move(moves, false, before);
  }

  @Override
  public void lower(DeviceSteps device) {
    State before = device.state();
    if (!BoxMoves.isIdentity(before.shape(), this)) {
      device.move(BoxMoves.roll(before.shape(), this), false, before);
    }
  }
}
