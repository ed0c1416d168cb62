package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.arrow.blocks.DeviceOperation.Compute;
import org.tilespark.arrow.blocks.DeviceOperation.Reorder;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Gathers a device's plan for one array of a {@link BlockProgram}: each step adds its operations by
 * {@link BlockStep#lower}. {@link DeviceProgram} says which steps are joined.
 */
public final class DeviceSteps {
  /** Least bytes of a slice for its own cuFFT call: smaller slices are faster to move twice. */
  private static final long LEAST_SLICE_BYTES = 8 << 20;

  /** Most cuFFT calls that are not worth avoiding. */
  private static final long FEW_SLICES = 32;

  private final Operations operations;
  private final long workShare;
  private State state;
  private int value; // number of the array's value before reorder
  private Optional<Reorder> reorder = Optional.empty(); // still to be done
  private double factor = 1;

  /**
   * An operation. Values are numbered: first the inputs, then the result of each operation in turn.
   *
   * @param operands numbers of the values that are its operands; each value is an operand only once
   */
  record Operation(DeviceOperation operation, List<Integer> operands) {
    /** Copies the list. */
    Operation {
      operands = List.copyOf(operands);
    }
  }

  /** The operations of a program's arrays, in their order. */
  static final class Operations {
    private final List<State> inputs;
    private final List<Operation> all = new ArrayList<>();
    private int nextInput;

    /** A list of operations on the inputs of a program, initially empty. */
    Operations(List<State> inputs) {
      this.inputs = inputs;
    }

    List<Operation> all() {
      return all;
    }

    /** Adds an operation; returns the number of its result. */
    private int add(DeviceOperation operation, List<Integer> operands) {
      all.add(new Operation(operation, operands));
      return inputs.size() + all.size() - 1;
    }
  }

  /**
   * A plan without steps, for the next input.
   *
   * @param workShare divisor of the array's bytes that gives the most bytes a work area should have
   */
  DeviceSteps(Operations operations, long workShare) {
    this.operations = operations;
    this.workShare = workShare;
    this.value = operations.nextInput++;
    this.state = operations.inputs.get(value);
  }

  /** The state of the array after the steps so far. */
  State state() {
    return state;
  }

  /** The factor of the result that is still to be applied. */
  double factor() {
    return factor;
  }

  /** Ends the plan; returns the number of its result. */
  int end() {
    flushReorder();
    return value;
  }

  private void flushReorder() {
    if (reorder.isPresent()) {
      Reorder waiting = reorder.get();
      reorder = Optional.empty();
      if (!BoxMoves.isIdentity(waiting.before().shape(), waiting.permutation())) {
        value = operations.add(waiting, List.of(value));
      }
    }
  }

  private void add(DeviceOperation operation) {
    flushReorder();
    value = operations.add(operation, List.of(value));
    state = operation.after();
  }

  /** Adds the operations that compute the step's other input arrays, then the step itself. */
  void elementwise(ElementwiseBlock step) {
    List<DeviceSteps> arrays = new ArrayList<>(List.of(this));
    for (BlockProgram program : step.otherBlocks()) {
      DeviceSteps other = new DeviceSteps(operations, workShare);
      program.steps().forEach(each -> each.lower(other));
      arrays.add(other);
    }
    State after = step.after(state);
    List<Integer> operands = new ArrayList<>();
    List<State> states = new ArrayList<>();
    ElementwiseProgram program = step.program();
    for (int i = 0; i < arrays.size(); i++) {
      DeviceSteps array = arrays.get(i);
      operands.add(array.end());
      states.add(array.state);
      if (array.factor != 1) {
        program = program.behind(i, FilterPrograms.factor(array.taken(), array.factor));
      }
    }
    ElementwiseBlock computed =
        new ElementwiseBlock(program, step.vectors(), step.origin(), List.of());
    value = operations.add(new Compute(computed, states, after), operands);
    state = after;
    factor = 1;
  }

  private void elementwise(ElementwiseProgram program) {
    elementwise(ElementwiseBlock.of(program, List.of()));
  }

  private Taken taken() {
    return new Taken(state.shape().rank(), state.type(), state.isComplex());
  }

  /** Adds a step of several passes. */
  void calculate(Calculation calculation, State after) {
    if (factor != 1) {
      ElementwiseProgram scaled = FilterPrograms.factor(taken(), factor);
      factor = 1;
      elementwise(scaled);
    }
    add(new DeviceOperation.Calculate(calculation, after));
  }

  /** Adds moves of boxes; see {@link DeviceOperation.Moves}. */
  void move(List<Move> moves, boolean leavesGaps, State after) {
    add(new DeviceOperation.Moves(moves, leavesGaps, state, after));
  }

  /** Adds a permutation of the axes. */
  void permute(Permutation permutation) {
    State before = reorder.map(Reorder::before).orElse(state);
    Permutation whole =
        reorder.map(first -> first.permutation().then(permutation)).orElse(permutation);
    state = new State(whole.apply(before.shape()), before.type(), before.isComplex());
    reorder = Optional.of(new Reorder(whole, before, state));
  }

  /** Adds a transform of some axes; see {@link Fourier}. */
  void transform(FourierProblem problem, double scale) {
    if (problem.kind() == Kind.FORWARD || problem.kind() == Kind.INVERSE) {
      complex(problem);
    } else {
      real(problem);
    }
    factor *= scale;
  }

  private void complex(FourierProblem problem) {
    List<Integer> axes =
        problem.axes().stream().filter(axis -> state.shape().extent(axis) > 1).toList();
    if (axes.isEmpty()) {
      return;
    }
    if (isManySlices(axes)) {
      Permutation last = bringToTheEnd(axes);
      permute(last);
      transform(lastAxes(axes.size()), problem.kind(), 0);
      permute(last.inverse());
    } else {
      transform(axes, problem.kind(), 0);
    }
  }

  /**
   * True if cuFFT would be called for each of many small slices, since the axes are between others.
   */
  private boolean isManySlices(List<Integer> axes) {
    Shape shape = state.shape();
    for (int last : axes) {
      int first = last;
      while (axes.contains(first - 1)) {
        first--;
      }
      long slices = volume(shape, 0, first);
      if (slices > FEW_SLICES
          && volume(shape, last + 1, shape.rank()) > 1
          && !axes.contains(last + 1)
          && state.bytes() / slices < LEAST_SLICE_BYTES) {
        return true;
      }
    }
    return false;
  }

  private static long volume(Shape shape, int from, int to) {
    long volume = 1;
    for (int axis = from; axis < to; axis++) {
      volume *= shape.extent(axis);
    }
    return volume;
  }

  private List<Integer> lastAxes(int count) {
    int rank = state.shape().rank();
    return IntStream.range(rank - count, rank).boxed().toList();
  }

  private void real(FourierProblem problem) {
    boolean there = problem.kind() == Kind.REAL_TO_HALF;
    int halved = problem.halvedAxis();
    Shape full = there ? problem.shape() : problem.outputShape();
    Kind ofOthers = there ? Kind.FORWARD : Kind.INVERSE;
    if (full.extent(halved) == 1) { // real values are their own spectrum along it
      if (there) {
        elementwise(FilterPrograms.complex(full.rank(), state.type()));
      }
      if (!problem.complexAxes().isEmpty()) {
        complex(
            new FourierProblem(state.shape(), state.type(), problem.complexAxes(), ofOthers, 0));
      }
      if (!there) {
        elementwise(FilterPrograms.realPart(full.rank(), state.type()));
      }
      return;
    }
    Permutation toTheEnd = bringToTheEnd(List.of(halved));
    permute(toTheEnd);
    Permutation back = toTheEnd.inverse();
    List<Integer> axes = new ArrayList<>();
    for (int axis : problem.axes()) {
      axes.add(back.axis(axis)); // where the axis is now
    }
    if (isManySlices(axes)) {
      Permutation last = bringToTheEnd(axes);
      permute(last);
      back = last.inverse().then(back);
      axes = lastAxes(axes.size());
    }
    transform(axes, problem.kind(), problem.realExtent());
    permute(back);
  }

  /**
   * The permutation that moves the axes {@code last} after all others, in the order of this list.
   */
  private Permutation bringToTheEnd(List<Integer> last) {
    return Permutation.of(
        Stream.concat(
                IntStream.range(0, state.shape().rank())
                    .boxed()
                    .filter(axis -> !last.contains(axis)),
                last.stream())
            .mapToInt(Integer::intValue)
            .toArray());
  }

  private void transform(List<Integer> axes, Kind kind, long realExtent) {
    FourierProblem problem =
        new FourierProblem(state.shape(), state.type(), axes, kind, realExtent);
    State after = new State(problem.outputShape(), state.type(), problem.outputIsComplex());
    long limit = Math.max(state.bytes(), after.bytes()) / workShare;
    add(new Transform(problem, state, after, limit));
  }
}
