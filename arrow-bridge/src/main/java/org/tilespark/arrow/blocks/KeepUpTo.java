package org.tilespark.arrow.blocks;

import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.PointwiseProgram;
import org.tilespark.kernels.pointwise.PointwiseProgram.Kind;
import org.tilespark.layout.Box;

/**
 * Sets the element at (i, j, k) to zero where the sum of one term per axis is above a limit: a low
 * pass, where the terms are squared frequencies.
 *
 * @param terms one vector per axis
 */
public record KeepUpTo(List<double[]> terms, double limit) implements BlockStep {
  /** Copies the list, not the vectors. */
  public KeepUpTo {
    terms = List.copyOf(terms);
  }

  @Override
  public State after(State before) {
    StepChecks.requireVectors("term", terms, before);
    return before;
  }

  @Override
  public void onHost(HostArray array) {
    State state = array.state();
    array.updatePlanes((from, to) -> HostPointwise.keepUpTo(state, from, to, terms, limit));
  }

  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new KeepUpTo(StepChecks.cut(terms, part), limit);
  }

  @Override
  public void lower(DeviceSteps device) {
    device.pointwise(new PointwiseProgram.Step(Kind.KEEP_UP_TO, terms, List.of(), limit));
  }
}
