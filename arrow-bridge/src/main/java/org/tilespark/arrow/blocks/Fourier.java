package org.tilespark.arrow.blocks;

import static java.util.stream.Collectors.joining;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.layout.Box;

/**
 * A discrete Fourier transform over some of the axes, along which the array must be whole. Results
 * are not normalised but multiplied by {@code scale}.
 *
 * @param axes axes of the transform, each once; with {@link Form#REAL} the last one is the halved
 *     one
 * @param realExtent with {@link Form#REAL} and {@link Direction#INVERSE} the extent n of the halved
 *     axis on the real side; otherwise ignored, 0
 * @param scale factor of every result; 1 for no factor
 */
public record Fourier(
    List<Integer> axes, Form form, Direction direction, long realExtent, double scale)
    implements BlockStep {
  /** The sign of the exponent. */
  public enum Direction {
    /** {@code exp(-2 pi i j k / n)}: from values to a spectrum. */
    FORWARD,
    /** {@code exp(+2 pi i j k / n)}: from a spectrum to values. */
    INVERSE
  }

  /** The kinds of numbers on the two sides of a transform. */
  public enum Form {
    /** Complex numbers on both sides. */
    COMPLEX,
    /**
     * Real values on one side and half a spectrum on the other. The last axis is halved: if it has
     * n real values, the spectrum keeps its frequencies 0 to n / 2 (rounded down). Forward takes
     * real values, inverse gives them.
     */
    REAL
  }

  /** Copies the list. */
  public Fourier {
    axes = List.copyOf(axes);
  }

  /** The transform, without the factor {@code scale}. */
  FourierProblem problem(State before) {
    boolean inverse = direction == Direction.INVERSE;
    Kind kind =
        form == Form.COMPLEX
            ? (inverse ? Kind.INVERSE : Kind.FORWARD)
            : (inverse ? Kind.HALF_TO_REAL : Kind.REAL_TO_HALF);
    return new FourierProblem(
        before.shape(), before.type(), axes, kind, kind == Kind.HALF_TO_REAL ? realExtent : 0);
  }

  @Override
  public State after(State before) {
    FourierProblem problem = problem(before);
    if (problem.inputIsComplex() != before.isComplex()) {
      throw new IllegalArgumentException(
          "%s takes %s"
              .formatted(
                  problem.kind(), problem.inputIsComplex() ? "complex numbers" : "real values"));
    }
    if (!Double.isFinite(scale)) {
      throw new IllegalArgumentException("the factor is " + scale);
    }
    return new State(problem.outputShape(), before.type(), problem.outputIsComplex());
  }

  @Override
  public Set<Integer> whole() {
    return Set.copyOf(axes);
  }

  @Override
  public Box place(State before, Box part) {
    return StepChecks.grown(part, axes, after(before).shape());
  }

  @Override
  public String toString() {
    return (direction == Direction.INVERSE ? "inverse " : "")
        + (form == Form.REAL ? "real " : "")
        + "transform over "
        + axes.stream()
            .map(axis -> axis < 3 ? "xyz".substring(axis, axis + 1) : "" + axis)
            .collect(joining());
  }

  @Override
  public boolean needsTransforms() {
    return true;
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(
        new Fourier(StepChecks.behindOneMore(axes), form, direction, realExtent, scale));
  }

  @Override
  public HostStep onHost(State before) {
    FourierProblem problem = problem(before);
    State after = after(before);
    return array -> array.transform(problem, scale, after);
  }

  @Override
  public void lower(DeviceSteps device) {
    device.transform(problem(device.state()), scale);
  }
}
