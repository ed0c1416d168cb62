package org.tilespark.arrow.blocks;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Calculation.At;
import org.tilespark.arrow.blocks.Reduce.Base;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseCode;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.reduce.BaseReduction;
import org.tilespark.kernels.reduce.Reduction;
import org.tilespark.kernels.reduce.ReductionProblem;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * {@link Reduce} on one cell.
 *
 * @param axes as in {@link Reduce}
 * @param bases as in {@link Reduce}
 * @param type as in {@link Reduce}
 * @param low index of the cell's first element along each of the axes; 0 if no result is a place
 * @param extents extents of the whole array
 */
record ReduceBlock(
    List<Integer> axes, List<Base> bases, ElementType type, List<Long> low, Shape extents)
    implements BlockStep {
  @Override
  public State after(State before) {
    long[] after = before.shape().toArray();
    axes.forEach(axis -> after[axis] = 1);
    after[axes.get(0)] = count();
    return new State(Shape.of(after), type, false);
  }

  /** Count of numbers in all states of the cell. */
  private int count() {
    return bases.stream().mapToInt(base -> base.reduction().numbers()).sum();
  }

  @Override
  public Optional<BlockStep> repeated(long count) {
    return Optional.of(
        new ReduceBlock(
            StepChecks.behindOneMore(axes),
            bases.stream().map(base -> new Base(base.reduction(), base.of().repeated())).toList(),
            type,
            low,
            StepChecks.behindEachOther(count, extents)));
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
    return new Writer(before).written();
  }

  /** Writes the calculation for a cell. */
  private final class Writer {
    private final Shape shape;
    private final Shape results; // shape of one number of a state, for each result
    private final Calculation.Builder code;
    private final int states; // array of all states; its outermost axis: their numbers

    Writer(State before) {
      shape = before.shape();
      code = new Calculation.Builder(before);
      long[] reduced = shape.toArray();
      axes.forEach(axis -> reduced[axis] = 1);
      results = Shape.of(reduced);
      states = code.array(Shape.of(count() * results.elements()), type);
    }

    Calculation written() {
      int first = 0;
      for (Base base : bases) {
        write(base, first);
        first += base.reduction().numbers();
      }
      int axis = axes.get(0);
      long before = product(0, axis);
      if (before == 1 || count() == 1) {
        return code.giving(states); // the numbers are in place already
      }
      long after = results.elements() / before;
      int result = code.array(after(code.taken()));
      code.move(
          new TransposeProblem(
              Shape.of(count(), before, after), Permutation.of(1, 0, 2), type.bytes()),
          At.start(states),
          At.start(result));
      return code.giving(result);
    }

    private long product(int from, int to) {
      long product = 1;
      for (int axis = from; axis < to; axis++) {
        product *= results.extent(axis);
      }
      return product;
    }

    private At state(int number) {
      return new At(states, number * results.elements());
    }

    private void write(Base base, int first) {
      switch (base.reduction()) {
        case SUM -> fold(numbers(base), Reduction.SUM, state(first));
        case MINIMUM -> fold(numbers(base), Reduction.MINIMUM, state(first));
        case MAXIMUM -> fold(numbers(base), Reduction.MAXIMUM, state(first));
        case ARGMIN -> best(numbers(base), Reduction.MINIMUM, Reduction.ARGMIN, first);
        case ARGMAX -> best(numbers(base), Reduction.MAXIMUM, Reduction.ARGMAX, first);
        case MOMENTS -> moments(numbers(base), first);
      }
    }

    /** The index of the array with the numbers to reduce; computes them if necessary. */
    private int numbers(Base base) {
      ElementwiseProgram program = base.of();
      if (program.equals(itself()) || (sums(base.reduction()) && program.equals(inDouble()))) {
        return 0;
      }
      int numbers = code.array(shape, program.types().get(program.outputs().get(0).real()));
      code.map(program, shape, List.of(At.start(0)), List.of(At.start(numbers)));
      return numbers;
    }

    /**
     * True if the reduction itself widens FLOAT32 to FLOAT64, so that a program that only casts can
     * be left out.
     */
    private static boolean sums(BaseReduction reduction) {
      return reduction == BaseReduction.SUM || reduction == BaseReduction.MOMENTS;
    }

    private ElementwiseProgram itself() {
      ElementwiseCode program = new ElementwiseCode();
      return program.program(shape.rank(), program.input(code.taken().type()));
    }

    /** The program that casts FLOAT32 to FLOAT64; for other types, as {@link #itself}. */
    private ElementwiseProgram inDouble() {
      if (code.taken().type() != ElementType.FLOAT32) {
        return itself();
      }
      ElementwiseCode program = new ElementwiseCode();
      int number = program.input(ElementType.FLOAT32);
      return program.program(shape.rank(), program.cast(ElementType.FLOAT64, number));
    }

    /** Reduces array {@code numbers} to numbers of the states' type. */
    private void fold(int numbers, Reduction reduction, At to) {
      ReductionProblem problem =
          new ReductionProblem(shape, new HashSet<>(axes), code.state(numbers).type(), reduction);
      if (problem.outputType() == type) {
        code.fold(problem, At.start(numbers), to);
        return;
      }
      int folded = code.array(results, problem.outputType());
      code.fold(problem, At.start(numbers), At.start(folded));
      ElementwiseCode cast = new ElementwiseCode();
      int number = cast.input(problem.outputType());
      code.map(
          cast.program(shape.rank(), cast.cast(type, number)),
          results,
          List.of(At.start(folded)),
          List.of(to));
    }

    private void best(int numbers, Reduction number, Reduction place, int first) {
      fold(numbers, number, state(first));
      int places = code.array(results, ElementType.INT64);
      code.fold(
          new ReductionProblem(shape, new HashSet<>(axes), code.state(numbers).type(), place),
          At.start(numbers),
          At.start(places));
      code.map(places(), results, List.of(At.start(places)), List.of(state(first + 1)));
    }

    /**
     * The program that converts places in the cell to places in the whole array, both in row-major
     * order.
     */
    private ElementwiseProgram places() {
      ElementwiseCode program = new ElementwiseCode();
      int left = program.input(ElementType.INT64);
      int place = -1;
      long stride = 1; // in the whole array
      for (int i = axes.size() - 1; i >= 0; i--) {
        int index = left;
        if (i > 0) {
          int extent = program.constant(shape.extent(axes.get(i)));
          index = program.apply(BinaryFunction.REMAINDER, left, extent);
          left = program.apply(BinaryFunction.FLOOR_DIVIDE, left, extent);
        }
        int there = program.apply(BinaryFunction.ADD, index, program.constant((long) low.get(i)));
        int term = program.apply(BinaryFunction.MULTIPLY, there, program.constant(stride));
        place = place < 0 ? term : program.apply(BinaryFunction.ADD, place, term);
        stride *= extents.extent(axes.get(i));
      }
      return program.program(shape.rank(), program.cast(type, place));
    }

    /**
     * Computes moments in two passes over the cell, which is in memory; the second pass uses the
     * distances from the mean.
     */
    private void moments(int numbers, int first) {
      long count = shape.elements() / results.elements();
      fold(numbers, Reduction.SUM, state(first + 1));
      ElementwiseCode ofMeans = new ElementwiseCode();
      int sum = ofMeans.input(ElementType.FLOAT64);
      int divisor = ofMeans.constant((double) count);
      code.map(
          ofMeans.program(
              shape.rank(), divisor, ofMeans.apply(BinaryFunction.DIVIDE, sum, divisor)),
          results,
          List.of(state(first + 1)),
          List.of(state(first), state(first + 1)));
      ElementType found = code.state(numbers).type();
      boolean isOurs = numbers != 0 && found == ElementType.FLOAT64;
      int squares = isOurs ? numbers : code.array(shape, ElementType.FLOAT64);
      ElementwiseCode ofSquares = new ElementwiseCode();
      int number = ofSquares.cast(ElementType.FLOAT64, ofSquares.input(found));
      int mean = ofSquares.input(new Input(ElementType.FLOAT64, false, new HashSet<>(axes)));
      int distance = ofSquares.apply(BinaryFunction.SUBTRACT, number, mean);
      code.map(
          ofSquares.program(
              shape.rank(), ofSquares.apply(BinaryFunction.MULTIPLY, distance, distance)),
          shape,
          List.of(At.start(numbers), state(first + 1)),
          List.of(At.start(squares)));
      fold(squares, Reduction.SUM, state(first + 2));
    }
  }
}
