package org.tilespark.arrow.blocks;

import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.host.HostTransposer;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Box;
import org.tilespark.layout.Permutation;

/** Permutes the axes: output axis {@code i} is input axis {@code permutation.axis(i)}. */
public record Permute(Permutation permutation) implements BlockStep {
  @Override
  public State after(State before) {
    return new State(permutation.apply(before.shape()), before.type(), before.isComplex());
  }

  @Override
  public Box place(State before, Box part) {
    return Box.at(permutation.apply(part.offset()), permutation.apply(part.sizes()));
  }

  @Override
  public String toString() {
    return "permute " + (permutation.rank() > 3 ? permutation : permutation.letters());
  }

  @Override
  public Permutation axes(int rank) {
    return permutation;
  }

  @Override
  public Optional<Permutation> asPermutation() {
    return Optional.of(permutation);
  }

  @Override
  public boolean needsExtents() {
    return false;
  }

  @Override
  public boolean isPlanewise() {
    return true;
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    int[] axes = new int[permutation.rank() + 1];
    for (int axis = 0; axis < permutation.rank(); axis++) {
      axes[axis + 1] = permutation.axis(axis) + 1;
    }
    return Optional.of(new Permute(Permutation.of(axes)));
  }

  @Override
  public HostStep onHost(State before) {
    State after = after(before);
    HostTransposer.Ready transpose =
        HostTransposer.ready(
            new TransposeProblem(before.shape(), permutation, before.type().bytes()));
    return array -> array.permute(transpose, after);
  }

  @Override
  public void lower(DeviceSteps device) {
    device.permute(permutation);
  }
}
