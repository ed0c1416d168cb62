package org.tilespark.arrow.blocks;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Calculation.At;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Makes a complex array a real one of twice the extent along an axis: element {@code i} along it
 * becomes its real part at {@code 2 i} and its imaginary part at {@code 2 i + 1}. The places of
 * parts do not depend on how the array is cut.
 *
 * @param axis the axis along which the parts follow each other
 */
public record Interleave(int axis) implements BlockStep {
  @Override
  public State after(State before) {
    if (!before.isComplex() || axis >= before.shape().rank()) {
      throw new IllegalArgumentException("it takes complex numbers with an axis " + axis);
    }
    long[] extents = before.shape().toArray();
    extents[axis] = Math.multiplyExact(2, extents[axis]);
    return new State(Shape.of(extents), before.type(), false);
  }

  @Override
  public Set<Integer> sliced(State before) {
    return Set.of(axis);
  }

  @Override
  public Optional<AxisRange> needed(State before, int along, AxisRange after) {
    long low = after.low() / 2;
    return Optional.of(along == axis ? new AxisRange(low, 1, after.high() / 2 - low + 1) : after);
  }

  @Override
  public Shape blockShape(State before, Shape blocks) {
    long[] shape = blocks.toArray();
    shape[axis] = Math.multiplyExact(2, shape[axis]);
    return Shape.of(shape);
  }

  @Override
  public Box place(State before, Box part) {
    long[] low = part.offset();
    long[] size = part.sizes();
    low[axis] *= 2;
    size[axis] *= 2;
    return Box.at(low, size);
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(new Interleave(axis + 1));
  }

  @Override
  public HostStep onHost(State before) {
    return new HostCalculation(calculation(before), after(before));
  }

  @Override
  public void lower(DeviceSteps device) {
    device.calculate(calculation(device.state()), after(device.state()));
  }

  /** Permutes the planes of parts, (2, outer, inner), to alternating parts, (outer, 2, inner). */
  private Calculation calculation(State before) {
    Calculation.Builder code = new Calculation.Builder(before);
    ElementType type = before.type();
    long elements = before.shape().elements();
    int rank = before.shape().rank();
    long inner =
        IntStream.range(axis + 1, rank)
            .mapToLong(each -> before.shape().extent(each))
            .reduce(1, (x, y) -> x * y);
    int parts = code.array(Shape.of(2, elements), type);
    code.map(
        parts(type),
        Shape.of(elements),
        List.of(At.start(0)),
        List.of(At.start(parts), new At(parts, elements)));
    int result = code.array(after(before));
    code.move(
        new TransposeProblem(
            Shape.of(2, elements / inner, inner), Permutation.of(1, 0, 2), type.bytes()),
        At.start(parts),
        At.start(result));
    return code.giving(result);
  }

  /** The program from complex numbers to their real and imaginary parts. */
  private static ElementwiseProgram parts(ElementType type) {
    return new ElementwiseProgram(
        1,
        List.of(Input.of(type, true)),
        List.of(),
        List.of(new Instruction.Load(0, 0), new Instruction.Load(0, 1)),
        List.of(Output.real(0), Output.real(1)));
  }

  /** The text in EXPLAIN. */
  @Override
  public String toString() {
    return "real and imaginary parts in turn along " + axis;
  }
}
