package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Calculation.At;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * The second half of a reduction: it merges the states that {@link Reduce} computed for all cells
 * along the reduced axes, in the order of their places, and computes the result. Of n states, state
 * i is merged with state i + half, where half is the greatest power of two below n, until one is
 * left: so the order does not depend on the distribution of cells over tasks.
 *
 * @param axes reduced axes, ascending, at least one
 * @param bases bases of {@link Reduce}
 * @param finish program with one input for each number of a merged state, which computes the result
 */
public record Merge(List<Integer> axes, List<BaseReduction> bases, ElementwiseProgram finish)
    implements BlockStep {
  /** Copies the lists. */
  public Merge {
    axes = List.copyOf(axes);
    bases = List.copyOf(bases);
  }

  @Override
  public State after(State before) {
    long[] extents = before.shape().toArray();
    if (extents[axes.get(0)] % numbers() != 0 || before.isComplex()) {
      throw new IllegalArgumentException(
          "it takes states of %s numbers each along axis %s".formatted(numbers(), axes.get(0)));
    }
    axes.forEach(axis -> extents[axis] = 1);
    ElementwiseProgram.Output output = finish.outputs().get(0);
    return new State(Shape.of(extents), finish.types().get(output.real()), output.isComplex());
  }

  @Override
  public Box place(State before, Box part) {
    return StepChecks.grown(
        part, StepChecks.changed(before.shape(), after(before).shape()), after(before).shape());
  }

  private int numbers() {
    return bases.stream().mapToInt(BaseReduction::numbers).sum();
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(new Merge(StepChecks.behindOneMore(axes), bases, finish.repeated()));
  }

  @Override
  public HostStep onHost(State before) {
    return new HostCalculation(calculation(before), after(before));
  }

  @Override
  public void lower(DeviceSteps device) {
    device.calculate(calculation(device.state()), after(device.state()));
  }

  Calculation calculation(State before) {
    Calculation.Builder code = new Calculation.Builder(before);
    State after = after(before);
    long results = after.shape().elements();
    long states = before.shape().elements() / numbers() / results; // of each result
    int at = byNumber(code, before);
    int first = 0;
    for (BaseReduction base : bases) {
      merge(code, base, at, first * states * results, states, results);
      first += base.numbers();
    }
    List<At> merged = new ArrayList<>();
    for (int number = 0; number < numbers(); number++) {
      merged.add(new At(at, number * states * results));
    }
    int result = code.array(after);
    code.map(finish, after.shape(), merged, List.of(At.start(result)));
    return code.giving(result);
  }

  /**
   * Adds a pass that moves the states to a new array: its axes are the number within a state, then
   * the reduced axes, then the others, so that each number of all states is one run.
   *
   * @return the new array
   */
  private int byNumber(Calculation.Builder code, State before) {
    int rank = before.shape().rank();
    int split = axes.get(0);
    long[] extents = new long[rank + 1]; // the first reduced axis becomes two: states, numbers
    List<Integer> order = new ArrayList<>(List.of(split + 1));
    List<Integer> kept = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      int at = axis > split ? axis + 1 : axis;
      extents[at] = before.shape().extent(axis);
      (axes.contains(axis) ? order : kept).add(at);
    }
    extents[split] = before.shape().extent(split) / numbers();
    extents[split + 1] = numbers();
    order.addAll(kept);
    Shape shape = Shape.of(extents);
    Permutation permutation = Permutation.of(order.stream().mapToInt(Integer::intValue).toArray());
    ElementType type = before.type();
    int moved = code.array(Shape.of(shape.elements()), type);
    code.move(new TransposeProblem(shape, permutation, type.bytes()), At.start(0), At.start(moved));
    return moved;
  }

  /** Merges the states of each result into one, which replaces the first of them. */
  private static void merge(
      Calculation.Builder code,
      BaseReduction base,
      int array,
      long start,
      long states,
      long results) {
    ElementwiseProgram program = base.merge(code.state(array).type());
    for (long left = states; left > 1; ) {
      long half = Long.highestOneBit(left - 1);
      List<At> one = new ArrayList<>();
      List<At> two = new ArrayList<>();
      for (int number = 0; number < base.numbers(); number++) {
        long at = start + number * states * results;
        one.add(new At(array, at));
        two.add(new At(array, at + half * results));
      }
      List<At> inputs = new ArrayList<>(one);
      inputs.addAll(two);
      code.map(program, Shape.of((left - half) * results), inputs, one);
      left = half;
    }
  }

  @Override
  public String toString() {
    return "those of all blocks along " + axes;
  }
}
