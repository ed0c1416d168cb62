package org.tilespark.arrow.arrays;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToLongFunction;
import org.tilespark.arrow.arrays.ArrayStep.Crop;
import org.tilespark.arrow.arrays.ArrayStep.Fourier;
import org.tilespark.arrow.arrays.ArrayStep.KeepUpTo;
import org.tilespark.arrow.arrays.ArrayStep.Pad;
import org.tilespark.arrow.arrays.ArrayStep.Permute;
import org.tilespark.arrow.arrays.ArrayStep.Power;
import org.tilespark.arrow.arrays.ArrayStep.Roll;
import org.tilespark.arrow.arrays.ArrayStep.Scale;
import org.tilespark.arrow.arrays.ArrayStep.Subtract;
import org.tilespark.arrow.arrays.FourierChain.State;
import org.tilespark.arrow.arrays.FourierMoves.Move;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.PointwiseProgram;
import org.tilespark.kernels.pointwise.PointwiseProgram.End;
import org.tilespark.kernels.pointwise.PointwiseProgram.Step;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * What a device does with one array of a {@link FourierChain}, decided before it begins: the chain
 * in the terms of a device, and where the array lies after each operation. A pure value.
 *
 * <ul>
 *   <li>Steps that treat each element by itself are one pass where they follow each other.
 *   <li>The factors of transforms wait for such a pass, or for the result to be taken.
 *   <li>Permutations that follow each other are one, or none.
 *   <li>Transforms between real values and half a spectrum have the halved axis last; so it is
 *       brought there before and taken back after.
 *   <li>The same is done for a transform over the middle one of three axes where cuFFT would be
 *       called for many small slices: two more passes over the array cost less than the calls.
 * </ul>
 *
 * <p>There are two buffers, and a third where a transform has none for its work area. Operations in
 * place leave the array where it is, the others take it to the other buffer.
 *
 * @param chain what it is of
 * @param operations first to last
 * @param factor of the result, still to be applied
 * @param buffers bytes of each buffer
 */
record FourierDevicePlan(
    FourierChain chain, List<Operation> operations, double factor, List<Long> buffers) {
  /** A slice of fewer bytes costs less to move twice than to transform by a call of its own. */
  private static final long LEAST_SLICE_BYTES = 8 << 20;

  /** Up to this many cuFFT calls cost too little to avoid. */
  private static final long FEW_SLICES = 32;

  private static final int WORK = 2;

  /** Copies the lists. */
  FourierDevicePlan {
    operations = List.copyOf(operations);
    buffers = List.copyOf(buffers);
  }

  /** One thing the device does, on an array that is {@code before} it and {@code after} it. */
  sealed interface Operation {
    /** What the array is before it. */
    State before();

    /** What the array is after it. */
    State after();

    /** True if the array stays in its buffer. */
    default boolean isInPlace() {
      return false;
    }
  }

  /**
   * A transform by cuFFT; no factor.
   *
   * @param workLimit the bytes its work area should not exceed
   */
  record Transform(FourierProblem problem, State before, State after, long workLimit)
      implements Operation {
    @Override
    public boolean isInPlace() {
      return before.isComplex() && after.isComplex();
    }
  }

  /** Axes in another order. */
  record Reorder(Permutation permutation, State before, State after) implements Operation {}

  /**
   * Copies of boxes.
   *
   * @param leavesGaps true if they do not cover the result, which is zero elsewhere
   */
  record Moves(List<Move> moves, boolean leavesGaps, State before, State after)
      implements Operation {}

  /** Steps that treat each element by itself. */
  record Pointwise(PointwiseProgram program, State before, State after) implements Operation {
    @Override
    public boolean isInPlace() {
      return program.end() == End.SAME;
    }
  }

  /**
   * The plan of a chain, with the work areas that transforms really need.
   *
   * @param workShare work areas should be no larger than the array divided by this
   * @param workBytes bytes of work area of a transform
   */
  static FourierDevicePlan of(
      FourierChain chain, long workShare, ToLongFunction<Transform> workBytes) {
    Builder builder = new Builder(chain.input(), workShare);
    chain.steps().forEach(builder::add);
    builder.flush(End.SAME);
    List<Operation> operations = builder.operations;
    long[] buffers = new long[WORK + 1];
    int at = 0;
    buffers[at] = chain.input().bytes();
    for (Operation operation : operations) {
      if (operation instanceof Transform transform) {
        int area = transform.isInPlace() ? 1 - at : WORK;
        buffers[area] = Math.max(buffers[area], workBytes.applyAsLong(transform));
      }
      at = operation.isInPlace() ? at : 1 - at;
      buffers[at] = Math.max(buffers[at], operation.after().bytes());
    }
    return new FourierDevicePlan(
        chain, operations, builder.factor, Arrays.stream(buffers).boxed().toList());
  }

  /** Device memory of the array, all of it. */
  long deviceBytes() {
    long bytes = FourierMemory.LANES * FourierMemory.stagingBytes(chain) + vectorBytes();
    for (long buffer : buffers) {
      bytes = Math.addExact(bytes, buffer);
    }
    return bytes;
  }

  /** Bytes of the vectors of all passes. */
  long vectorBytes() {
    long elements = 0;
    for (Operation operation : operations) {
      if (operation instanceof Pointwise pointwise) {
        elements += pointwise.program().vectorElements();
      }
    }
    return elements * Double.BYTES;
  }

  /** Copies the vectors of all passes, one after the other, to memory of {@link #vectorBytes}. */
  void copyVectors(HostMemory target) {
    long offset = 0;
    for (Operation operation : operations) {
      if (operation instanceof Pointwise pointwise) {
        for (double[] vector : pointwise.program().vectors()) {
          HostMemory source = HostMemory.ofArray(vector);
          source.copyTo(target.slice(offset, source.bytes()));
          offset += source.bytes();
        }
      }
    }
  }

  private static final class Builder {
    private final List<Operation> operations = new ArrayList<>();
    private final List<Step> steps = new ArrayList<>(); // on the array as it is, not yet added
    private final long workShare;
    private State state;
    private double factor = 1;

    private Builder(State state, long workShare) {
      this.state = state;
      this.workShare = workShare;
    }

    private void add(ArrayStep step) {
      if (step instanceof Fourier fourier) {
        add(fourier);
      } else if (step instanceof Permute permute) {
        permute(permute.permutation());
      } else if (step instanceof Subtract subtract) {
        applyFactor();
        add(new Step(PointwiseProgram.Kind.SUBTRACT, subtract.real(), subtract.imag(), 0));
      } else if (step instanceof Scale scale) {
        add(new Step(PointwiseProgram.Kind.SCALE, scale.factors(), List.of(), 0));
      } else if (step instanceof KeepUpTo keep) {
        add(new Step(PointwiseProgram.Kind.KEEP_UP_TO, keep.terms(), List.of(), keep.limit()));
      } else if (step instanceof Power power) {
        applyFactor();
        flush(End.POWER);
        factor = power.scale();
      } else if (step instanceof Roll roll) {
        if (!FourierMoves.isIdentity(state.shape(), roll)) {
          move(FourierMoves.roll(state.shape(), roll), false, step);
        }
      } else if (step instanceof Pad pad) {
        if (!pad.shape().equals(state.shape())) {
          move(List.of(FourierMoves.pad(state.shape(), pad)), true, step);
        }
      } else if (step instanceof Crop crop) {
        if (!crop.shape().equals(state.shape())) {
          move(List.of(FourierMoves.crop(state.shape(), crop)), false, step);
        }
      } else {
        throw new IllegalArgumentException(step + ": it is not bound to a part");
      }
    }

    private void add(Step step) {
      if (steps.size() == PointwiseProgram.MOST_STEPS) {
        flush(End.SAME);
      }
      steps.add(step);
    }

    /** The factor that waits, in the pass that is being gathered. */
    private void applyFactor() {
      if (factor != 1) {
        add(new Step(PointwiseProgram.Kind.FACTOR, List.of(), List.of(), factor));
        factor = 1;
      }
    }

    /** Makes a pass of the steps that were gathered, if there are any or its end is one. */
    private void flush(End end) {
      if (end == End.SAME && steps.isEmpty()) {
        return;
      }
      if (end == End.SAME && steps.size() < PointwiseProgram.MOST_STEPS) {
        applyFactor(); // it costs nothing here
      }
      PointwiseProgram program =
          new PointwiseProgram(state.shape(), state.type(), state.isComplex(), steps, end);
      State after = new State(state.shape(), state.type(), program.outputIsComplex());
      operations.add(new Pointwise(program, state, after));
      steps.clear();
      state = after;
    }

    private void move(List<Move> moves, boolean leavesGaps, ArrayStep step) {
      flush(End.SAME);
      State after = step.after(state);
      operations.add(new Moves(moves, leavesGaps, state, after));
      state = after;
    }

    private void permute(Permutation permutation) {
      flush(End.SAME);
      Permutation whole = permutation;
      int last = operations.size() - 1;
      if (last >= 0 && operations.get(last) instanceof Reorder before) {
        operations.remove(last);
        state = before.before();
        whole = before.permutation().then(permutation);
      }
      State after = new State(whole.apply(state.shape()), state.type(), state.isComplex());
      if (!FourierMoves.isIdentity(state.shape(), whole)) {
        operations.add(new Reorder(whole, state, after));
      }
      state = after;
    }

    private void add(Fourier fourier) {
      flush(End.SAME);
      FourierProblem problem = fourier.problem(state);
      if (problem.kind() == Kind.FORWARD || problem.kind() == Kind.INVERSE) {
        complex(problem);
      } else {
        real(problem);
      }
      factor *= fourier.scale();
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
      operations.add(new Transform(problem, state, after, limit));
      state = after;
    }
  }
}
