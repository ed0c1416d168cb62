package org.tilespark.arrow.blocks;

import org.tilespark.arrow.blocks.BlockProgram.State;

/**
 * Complex numbers to the squares of their absolute values, real.
 *
 * @param scale factor of every result
 */
public record Power(double scale) implements BlockStep {
  @Override
  public State after(State before) {
    StepChecks.requireFloats(before);
    if (!before.isComplex()) {
      throw new IllegalArgumentException("it takes complex numbers");
    }
    return new State(before.shape(), before.type(), false);
  }

  @Override
  public String toString() {
    return "power";
  }

  @Override
  public boolean needsExtents() {
    return false;
  }

  @Override
  public void onHost(HostArray array) {
    State state = array.state();
    array.update(
        after(state),
        (from, to) -> HostPointwise.power(state, from.get(0), from.get(1), to.get(0), scale));
  }

  @Override
  public void lower(DeviceSteps device) {
    device.power(scale);
  }
}
