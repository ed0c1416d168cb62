package org.tilespark.arrow.blocks;

import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.PointwiseProgram;
import org.tilespark.kernels.pointwise.PointwiseProgram.Kind;
import org.tilespark.layout.Box;

/**
 * Multiplies the element at (i, j, k) by the product of one factor per axis: a window, or a filter
 * that is separable.
 *
 * @param factors one vector per axis
 */
public record Scale(List<double[]> factors) implements BlockStep {
  /** Copies the list, not the vectors. */
  public Scale {
    factors = List.copyOf(factors);
  }

  @Override
  public State after(State before) {
    StepChecks.requireVectors("factor", factors, before);
    return before;
  }

  @Override
  public void onHost(HostArray array) {
    State state = array.state();
    array.updatePlanes((from, to) -> HostPointwise.scale(state, from, to, factors));
  }

  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new Scale(StepChecks.cut(factors, part));
  }

  @Override
  public void lower(DeviceSteps device) {
    device.pointwise(new PointwiseProgram.Step(Kind.SCALE, factors, List.of(), 0));
  }
}
