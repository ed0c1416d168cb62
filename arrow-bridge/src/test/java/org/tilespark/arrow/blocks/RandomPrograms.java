package org.tilespark.arrow.blocks;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.Fourier.Direction;
import org.tilespark.arrow.blocks.Fourier.Form;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Input;
import org.tilespark.kernels.pointwise.ElementwiseProgram.Output;
import org.tilespark.kernels.pointwise.Instruction;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Random programs of several inputs, built from the result backwards: elementwise steps of every
 * kind with others that are repeated, moved and computed first.
 *
 * @param transforms true for transforms among the steps, and FLOAT32 and FLOAT64 alone; false for
 *     every type
 */
record RandomPrograms(Random random, boolean transforms) {
  /** Any result of a few elements. */
  State state() {
    long[] extents = new long[1 + random.nextInt(3)];
    for (int axis = 0; axis < extents.length; axis++) {
      extents[axis] = 1L + random.nextInt(extents.length == 1 ? 40 : 7);
    }
    return new State(Shape.of(extents), type(), random.nextBoolean());
  }

  private ElementType type() {
    ElementType[] all = ElementType.values();
    return transforms
        ? (random.nextBoolean() ? ElementType.FLOAT32 : ElementType.FLOAT64)
        : all[random.nextInt(all.length)];
  }

  /** A program that gives {@code result}, with others nested up to {@code depth} levels. */
  BlockProgram giving(State result, int depth) {
    Deque<BlockStep> steps = new ArrayDeque<>();
    State state = result;
    for (int i = random.nextInt(4); i > 0; i--) {
      state = before(state, steps, depth);
    }
    return new BlockProgram(state.shape(), state.type(), state.isComplex(), List.copyOf(steps));
  }

  /** Puts a step in front that gives {@code after}; what it takes. */
  private State before(State after, Deque<BlockStep> steps, int depth) {
    Shape shape = after.shape();
    int rank = shape.rank();
    long[] extents = shape.toArray();
    List<Long> numbers = new ArrayList<>();
    switch (random.nextInt(transforms ? 8 : 7)) {
      case 0 -> {
        List<Integer> axes = new ArrayList<>();
        for (int axis = 0; axis < rank; axis++) {
          axes.add(random.nextInt(axes.size() + 1), axis);
        }
        Permutation permutation =
            Permutation.of(axes.stream().mapToInt(Integer::intValue).toArray());
        steps.addFirst(new Permute(permutation));
        return new State(permutation.inverse().apply(shape), after.type(), after.isComplex());
      }
      case 1 -> {
        for (int axis = 0; axis < rank; axis++) {
          numbers.add(random.nextInt(9) - 4L);
        }
        steps.addFirst(new Roll(numbers));
        return after;
      }
      case 2 -> {
        for (int axis = 0; axis < rank; axis++) {
          int more = random.nextInt(3);
          extents[axis] += more;
          numbers.add((long) random.nextInt(more + 1));
        }
        steps.addFirst(OracleArray.crop(shape, numbers));
        return new State(Shape.of(extents), after.type(), after.isComplex());
      }
      case 3 -> {
        for (int axis = 0; axis < rank; axis++) {
          int less = random.nextInt((int) extents[axis]);
          extents[axis] -= less;
          numbers.add((long) random.nextInt(less + 1));
        }
        steps.addFirst(new Pad(shape, numbers));
        return new State(Shape.of(extents), after.type(), after.isComplex());
      }
      case 4 -> {
        List<AxisRange> ranges = new ArrayList<>();
        for (int axis = 0; axis < rank; axis++) {
          long extent = extents[axis];
          extents[axis] = 2 * extent;
          ranges.add(
              random.nextBoolean()
                  ? new AxisRange(2 * extent - 1, -2, extent)
                  : new AxisRange(1, 1, extent));
        }
        steps.addFirst(new Slice(ranges));
        return new State(Shape.of(extents), after.type(), after.isComplex());
      }
      case 7 -> {
        Set<Integer> axes = new HashSet<>(Set.of(random.nextInt(rank)));
        axes.add(random.nextInt(rank));
        Direction direction = Direction.values()[random.nextInt(2)];
        boolean isReal =
            direction == Direction.FORWARD
                ? after.isComplex() && random.nextBoolean()
                : !after.isComplex();
        if (!isReal && after.isComplex()) {
          steps.addFirst(new Fourier(List.copyOf(axes), Form.COMPLEX, direction, 0, 0.5));
          return after;
        } else if (direction == Direction.INVERSE) {
          int halved = List.copyOf(axes).get(axes.size() - 1);
          long n = extents[halved];
          extents[halved] = n / 2 + 1;
          steps.addFirst(new Fourier(List.copyOf(axes), Form.REAL, direction, n, 0.25));
          return new State(Shape.of(extents), after.type(), true);
        }
        return after;
      }
      default -> {
        return elementwise(after, steps, depth);
      }
    }
  }

  private State elementwise(State after, Deque<BlockStep> steps, int depth) {
    int rank = after.shape().rank();
    List<Input> inputs = new ArrayList<>(List.of(Input.of(type(), random.nextBoolean())));
    List<BlockProgram> others = new ArrayList<>();
    int count = depth == 0 ? 0 : random.nextInt(3);
    for (int i = 0; i < count; i++) {
      Set<Integer> repeated = new HashSet<>();
      for (int axis = 0; axis < rank; axis++) {
        if (random.nextInt(4) == 0) {
          repeated.add(axis);
        }
      }
      Input input = new Input(type(), random.nextBoolean(), repeated);
      inputs.add(input);
      State other = new State(input.shape(after.shape()), input.type(), input.isComplex());
      others.add(giving(other, depth - 1));
    }
    List<double[]> vectors = new ArrayList<>();
    List<Integer> axes = new ArrayList<>();
    if (random.nextInt(3) == 0) {
      axes.add(random.nextInt(rank));
      vectors.add(random.doubles(after.shape().extent(axes.get(0)), -2, 2).toArray());
    }
    List<Long> origin = new ArrayList<>();
    for (int axis = 0; axis < rank; axis++) {
      origin.add((long) random.nextInt(4));
    }
    ElementwiseProgram program = program(after, inputs, axes);
    steps.addFirst(new ElementwiseBlock(program, vectors, origin, others));
    return new State(after.shape(), inputs.get(0).type(), inputs.get(0).isComplex());
  }

  /** Sums, differences and products of all parts, vectors and places, in the result's type. */
  private ElementwiseProgram program(State after, List<Input> inputs, List<Integer> axes) {
    List<Instruction> code = new ArrayList<>();
    List<Integer> values = new ArrayList<>(); // of the result's type
    List<Instruction> sources = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      sources.add(new Instruction.Load(i, 0));
      if (inputs.get(i).isComplex()) {
        sources.add(new Instruction.Load(i, 1));
      }
    }
    for (int v = 0; v < axes.size(); v++) {
      sources.add(new Instruction.AxisValue(v));
    }
    if (random.nextInt(4) == 0) {
      sources.add(new Instruction.Place(random.nextInt(after.shape().rank())));
    }
    for (Instruction source : sources) {
      code.add(source);
      code.add(new Instruction.Cast(after.type(), code.size() - 1));
      values.add(code.size() - 1);
    }
    BinaryFunction[] functions = {
      BinaryFunction.ADD, BinaryFunction.SUBTRACT, BinaryFunction.MULTIPLY, BinaryFunction.ADD
    };
    int re = values.get(0);
    int im = values.get(values.size() - 1);
    for (int value : values) {
      BinaryFunction function = functions[random.nextInt(functions.length)];
      code.add(new Instruction.Binary(function, re, value));
      im = re;
      re = code.size() - 1;
    }
    return new ElementwiseProgram(
        after.shape().rank(),
        inputs,
        axes,
        code,
        List.of(after.isComplex() ? new Output(re, im) : Output.real(re)));
  }
}
