package org.tilespark.arrow.blocks;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;

/**
 * What happens to one block, or to one array as a whole: steps, each of which takes what the one
 * before gives. Transforms need their axes whole, so the array is whole along those; along others
 * it may be a part of a larger one.
 *
 * @param shape of the array as it comes, 1 to 3 axes, all extents at least 1
 * @param type of the elements, of the parts of complex numbers too; steps say which they take
 * @param isComplex true if it comes as complex numbers
 * @param steps first to last; may be empty
 */
public record BlockProgram(
    Shape shape, ElementType type, boolean isComplex, List<BlockStep> steps) {
  private static final int MOST_AXES = 3;

  /**
   * The array at one place of the chain.
   *
   * @param shape its extents
   * @param type of its elements, or of their parts
   * @param isComplex true if they are complex numbers
   */
  public record State(Shape shape, ElementType type, boolean isComplex) {
    /** Buffers that hold it in host memory: 2 if complex, else 1. */
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
   * Copies the list and checks that every step fits what the one before gives.
   *
   * @throws IllegalArgumentException if one does not; says which, what it takes and what it finds
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

  /** True if all steps do is to move elements, whatever their type, each plane by itself. */
  boolean onlyMoves() {
    return steps.stream().allMatch(step -> step.repeated(1).isPresent());
  }

  /** The array before the first step, then after each. */
  public List<State> states() {
    return states(input(), steps);
  }

  /**
   * All arrays that are put: that of the program itself, then those of the others that its steps
   * take, in the order in which they are taken.
   */
  public List<State> inputs() {
    List<State> inputs = new ArrayList<>(List.of(input()));
    for (BlockStep step : steps) {
      step.otherBlocks().forEach(other -> inputs.addAll(other.inputs()));
    }
    return inputs;
  }

  /** The array as it comes. */
  public State input() {
    return new State(shape, type, isComplex);
  }

  /** The result. */
  public State output() {
    List<State> states = states();
    return states.get(states.size() - 1);
  }
}
