package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BoxMoves.Move;
import org.tilespark.arrow.blocks.DeviceOperation.Reorder;
import org.tilespark.arrow.blocks.DeviceOperation.Transform;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.pointwise.PointwiseProgram;
import org.tilespark.kernels.pointwise.PointwiseProgram.End;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * What a device does for the steps of a {@link BlockProgram}, gathered step by step: each step says
 * what it needs by {@link BlockStep#lower}. See {@link DeviceProgram} for what becomes one.
 */
public final class DeviceSteps {
  /** A slice of fewer bytes costs less to move twice than to transform by a call of its own. */
  private static final long LEAST_SLICE_BYTES = 8 << 20;

  /** Up to this many cuFFT calls cost too little to avoid. */
  private static final long FEW_SLICES = 32;

  private final List<DeviceOperation> operations = new ArrayList<>();
  private final List<PointwiseProgram.Step> steps = new ArrayList<>(); // behind the operations
  private final long workShare;
  private State state;
  private Optional<Reorder> reorder = Optional.empty(); // behind the operations; steps are none
  private double factor = 1;

  /**
   * No steps yet.
   *
   * @param state the array as it comes
   * @param workShare work areas should be no larger than the array divided by this
   */
  DeviceSteps(State state, long workShare) {
    this.state = state;
    this.workShare = workShare;
  }

  /** What the array is after the steps so far. */
  State state() {
    return state;
  }

  /** The factor of the result that is still to be applied. */
  double factor() {
    return factor;
  }

  /** The operations of all steps. */
  List<DeviceOperation> end() {
    flush(End.SAME);
    return List.copyOf(operations);
  }

  /** Adds a step that treats each element by itself. */
  void pointwise(PointwiseProgram.Step step) {
    flushReorder();
    if (steps.size() == PointwiseProgram.MOST_STEPS) {
      flush(End.SAME);
    }
    steps.add(step);
  }

  /** Applies the factors of transforms now. */
  void applyFactor() {
    if (factor != 1) {
      pointwise(
          new PointwiseProgram.Step(PointwiseProgram.Kind.FACTOR, List.of(), List.of(), factor));
      factor = 1;
    }
  }

  /** Makes a pass of the steps that were gathered, if there are any or its end is one. */
  private void flush(End end) {
    flushReorder();
    if (end == End.SAME && steps.isEmpty()) {
      return;
    }
    if (end == End.SAME && steps.size() < PointwiseProgram.MOST_STEPS) {
      applyFactor(); // it costs nothing here
    }
    PointwiseProgram program =
        new PointwiseProgram(state.shape(), state.type(), state.isComplex(), steps, end);
    State after = new State(state.shape(), state.type(), program.outputIsComplex());
    steps.clear();
    operations.add(new DeviceOperation.Pointwise(program, state, after));
    state = after;
  }

  private void flushSteps() {
    if (reorder.isEmpty()) {
      flush(End.SAME);
    }
  }

  private void flushReorder() {
    if (reorder.isPresent()) {
      Reorder waiting = reorder.get();
      reorder = Optional.empty();
      if (!BoxMoves.isIdentity(waiting.before().shape(), waiting.permutation())) {
        operations.add(waiting);
      }
    }
  }

  private void add(DeviceOperation operation) {
    flush(End.SAME);
    operations.add(operation);
    state = operation.after();
  }

  /** Complex numbers to the squares of their absolute values, times {@code scale}. */
  void power(double scale) {
    applyFactor();
    flush(End.POWER);
    factor = scale;
  }

  /** Computes each element. */
  void elementwise(ElementwiseBlock step) {
    throw new UnsupportedOperationException("Elementwise programs on a device");
  }

  /** Takes a step of several passes. */
  void calculate(Calculation calculation, State after) {
    throw new UnsupportedOperationException("Reductions on a device");
  }

  /** Moves boxes; see {@link DeviceOperation.Moves}. */
  void move(List<Move> moves, boolean leavesGaps, State after) {
    flush(End.SAME);
    add(new DeviceOperation.Moves(moves, leavesGaps, state, after));
  }

  /** Reorders the axes. */
  void permute(Permutation permutation) {
    flushSteps();
    State before = reorder.map(Reorder::before).orElse(state);
    Permutation whole =
        reorder.map(first -> first.permutation().then(permutation)).orElse(permutation);
    state = new State(whole.apply(before.shape()), before.type(), before.isComplex());
    reorder = Optional.of(new Reorder(whole, before, state));
  }

  /** Transforms some axes; see {@link Fourier}. */
  void transform(FourierProblem problem, double scale) {
    flushSteps();
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
    if (axes.equals(List.of(1)) && isManySlices(state)) {
      Permutation swap = Permutation.of(0, 2, 1);
      permute(swap);
      transform(List.of(2), problem.kind(), 0);
      permute(swap);
    } else {
      transform(axes, problem.kind(), 0);
    }
  }

  private static boolean isManySlices(State state) {
    Shape shape = state.shape();
    return shape.rank() == 3
        && shape.extent(2) > 1
        && shape.extent(0) > FEW_SLICES
        && state.bytes() / shape.extent(0) < LEAST_SLICE_BYTES;
  }

  private void real(FourierProblem problem) {
    boolean there = problem.kind() == Kind.REAL_TO_HALF;
    int halved = problem.halvedAxis();
    Shape full = there ? problem.shape() : problem.outputShape();
    Kind ofOthers = there ? Kind.FORWARD : Kind.INVERSE;
    if (full.extent(halved) == 1) { // real values are their own spectrum along it
      if (there) {
        flush(End.COMPLEX);
      }
      if (!problem.complexAxes().isEmpty()) {
        complex(
            new FourierProblem(state.shape(), state.type(), problem.complexAxes(), ofOthers, 0));
      }
      if (!there) {
        flush(End.REAL_PART);
      }
      return;
    }
    Permutation toTheEnd = bringToTheEnd(halved, full.rank());
    permute(toTheEnd);
    Permutation back = toTheEnd.inverse();
    List<Integer> axes = new ArrayList<>();
    for (int axis : problem.axes()) {
      axes.add(back.axis(axis)); // where the axis is now
    }
    transform(axes, problem.kind(), problem.realExtent());
    permute(back);
  }

  private static Permutation bringToTheEnd(int axis, int rank) {
    List<Integer> axes = new ArrayList<>();
    for (int i = 0; i < rank; i++) {
      if (i != axis) {
        axes.add(i);
      }
    }
    axes.add(axis);
    return Permutation.of(axes.stream().mapToInt(Integer::intValue).toArray());
  }

  private void transform(List<Integer> axes, Kind kind, long realExtent) {
    FourierProblem problem =
        new FourierProblem(state.shape(), state.type(), axes, kind, realExtent);
    State after = new State(problem.outputShape(), state.type(), problem.outputIsComplex());
    long limit = Math.max(state.bytes(), after.bytes()) / workShare;
    add(new Transform(problem, state, after, limit));
  }
}
