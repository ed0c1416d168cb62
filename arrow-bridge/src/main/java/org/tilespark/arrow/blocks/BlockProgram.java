package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * The steps on one block, or on one whole array; each step takes the result of the previous one.
 * The array may be a part of a larger one, except along the axes of transforms, where it must be
 * whole.
 *
 * @param shape shape of the input array, 1 to 3 axes, and perhaps a leading axis over several
 *     arrays of equal shape; all extents at least 1
 * @param type element type, or the type of the parts of complex numbers; steps check which types
 *     they accept
 * @param isComplex true if the input is complex
 * @param steps the steps, first to last; may be empty
 */
public record BlockProgram(
    Shape shape, ElementType type, boolean isComplex, List<BlockStep> steps) {
  private static final int MOST_AXES = ElementwiseProgram.MOST_AXES;

  /**
   * The shape and type of the array between two steps.
   *
   * @param shape extents of the array
   * @param type element type, or the type of the parts of complex numbers
   * @param isComplex true if the elements are complex numbers
   */
  public record State(Shape shape, ElementType type, boolean isComplex) {
    /** Number of planes that hold the array in host memory: 2 if complex, else 1. */
    public int planes() {
      return isComplex ? 2 : 1;
    }

    /** Bytes of one plane. */
    public long planeBytes() {
      return Math.multiplyExact(shape.elements(), (long) type.bytes());
    }

    /** Bytes of all planes. */
    public long bytes() {
      return Math.multiplyExact(planeBytes(), (long) planes());
    }

    @Override
    public String toString() {
      return (isComplex ? "complex " : "real ") + type + " " + shape;
    }
  }

  /**
   * Copies the list and checks that every step accepts the result of the previous one.
   *
   * @throws IllegalArgumentException if a step does not accept it; the message names the step, what
   *     it accepts and what it found
   */
  public BlockProgram {
    steps = List.copyOf(steps);
    if (shape.rank() < 1 || shape.rank() > MOST_AXES) {
      throw new IllegalArgumentException(
          "A program on shape " + shape + "; expected 1 to " + MOST_AXES + " axes");
    }
    if (shape.elements() == 0) {
      throw new IllegalArgumentException(
          "A program on the empty shape " + shape + "; expected extents of 1 or more");
    }
    states(new State(shape, type, isComplex), steps);
  }

  private static List<State> states(State first, List<BlockStep> steps) {
    List<State> states = new ArrayList<>(List.of(first));
    State state = first;
    for (int i = 0; i < steps.size(); i++) {
      try {
        state = steps.get(i).after(state);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(
            "Step %s of %s (%s) on %s: %s"
                .formatted(
                    i + 1,
                    steps.size(),
                    steps.get(i).getClass().getSimpleName(),
                    state,
                    e.getMessage()),
            e);
      }
      states.add(state);
    }
    return states;
  }

  /**
   * True if planes may be processed separately, or in slices; see {@link BlockStep#isPlanewise}.
   */
  boolean isPlanewise() {
    return steps.stream().allMatch(BlockStep::isPlanewise);
  }

  /** This program on {@code count} arrays, as {@link BlockStep#repeated}. */
  Optional<BlockProgram> repeated(long count) {
    List<BlockStep> all = steps.stream().flatMap(step -> step.repeated(count).stream()).toList();
    return all.size() == steps.size()
        ? Optional.of(
            new BlockProgram(StepChecks.behindEachOther(count, shape), type, isComplex, all))
        : Optional.empty();
  }

  /** The last step, if there is one. */
  Optional<BlockStep> last() {
    return steps.isEmpty() ? Optional.empty() : Optional.of(steps.get(steps.size() - 1));
  }

  /** This program without its last step. */
  BlockProgram withoutLast() {
    return new BlockProgram(shape, type, isComplex, steps.subList(0, steps.size() - 1));
  }

  /** The steps, with neighbours joined where one step gives the same bits as the two. */
  static List<BlockStep> joined(List<BlockStep> steps, Compositions compositions) {
    List<BlockStep> all = new ArrayList<>();
    for (BlockStep each : steps) {
      BlockStep step = each.withOthersTakenIn(compositions);
      Optional<BlockStep> both =
          all.isEmpty() ? Optional.empty() : all.get(all.size() - 1).then(step, compositions);
      if (both.isPresent()) {
        all.remove(all.size() - 1);
      }
      all.add(both.orElse(step));
    }
    return all;
  }

  /** The states of the array: before the first step, then after each step. */
  public List<State> states() {
    return states(input(), steps);
  }

  /**
   * All input arrays: the program's own, then the further arrays that its steps take, in the order
   * in which they take them.
   */
  public List<State> inputs() {
    List<State> inputs = new ArrayList<>(List.of(input()));
    for (BlockStep step : steps) {
      step.otherBlocks().forEach(other -> inputs.addAll(other.inputs()));
    }
    return inputs;
  }

  /** The state of the input array. */
  public State input() {
    return new State(shape, type, isComplex);
  }

  /** The state of the result. */
  public State output() {
    List<State> states = states();
    return states.get(states.size() - 1);
  }
}
