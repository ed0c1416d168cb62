package org.tilespark.arrow.blocks;

import java.util.List;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.PointwiseProgram;
import org.tilespark.kernels.pointwise.PointwiseProgram.Kind;
import org.tilespark.layout.Box;

/**
 * Subtracts from the element at (i, j, k) the sum of one number per axis: a mean, or a linear
 * trend.
 *
 * @param real of the real parts: one vector per axis
 * @param imag of the imaginary parts; empty if the array is real
 */
public record Subtract(List<double[]> real, List<double[]> imag) implements BlockStep {
  /** Copies the lists, not the vectors. */
  public Subtract {
    real = List.copyOf(real);
    imag = List.copyOf(imag);
  }

  @Override
  public State after(State before) {
    StepChecks.requireVectors("real", real, before);
    if (before.isComplex()) {
      StepChecks.requireVectors("imaginary", imag, before);
    } else if (!imag.isEmpty()) {
      throw new IllegalArgumentException("imaginary parts to subtract from real values");
    }
    return before;
  }

  @Override
  public void onHost(HostArray array) {
    State state = array.state();
    array.update(
        state,
        (from, to) -> {
          HostPointwise.subtract(state, from.get(0), to.get(0), real);
          if (state.isComplex()) {
            HostPointwise.subtract(state, from.get(1), to.get(1), imag);
          }
        });
  }

  @Override
  public BlockStep onPart(State before, Box part, Given given) {
    return new Subtract(StepChecks.cut(real, part), StepChecks.cut(imag, part));
  }

  @Override
  public void lower(DeviceSteps device) {
    device.applyFactor();
    device.pointwise(new PointwiseProgram.Step(Kind.SUBTRACT, real, imag, 0));
  }
}
