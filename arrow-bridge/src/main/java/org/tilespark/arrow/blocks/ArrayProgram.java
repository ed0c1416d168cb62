package org.tilespark.arrow.blocks;

import static java.util.stream.Collectors.joining;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * What happens to a whole array between two exchanges, and to each part of it. Parts may be cut in
 * any way along the axes that {@link #whole} does not name.
 *
 * @param extents of the whole array as it comes
 * @param type of its elements, or of their parts
 * @param isComplex true if it is taken as complex numbers
 * @param steps first to last
 */
public record ArrayProgram(
    Shape extents, ElementType type, boolean isComplex, List<ArrayStep> steps)
    implements Serializable {
  /**
   * What happens to one part.
   *
   * @param program the steps
   * @param place where the result lies in the whole result
   */
  public record Part(BlockProgram program, Box place) {}

  /** Copies the list. */
  public ArrayProgram {
    steps = List.copyOf(steps);
  }

  /** Only a permutation of the axes. */
  public static ArrayProgram reordering(State before, Permutation permutation) {
    return new ArrayProgram(
        before.shape(), before.type(), before.isComplex(), List.of(new Permute(permutation)));
  }

  /** The whole array as it comes. */
  public State input() {
    return new State(extents, type, isComplex);
  }

  /** The whole result. */
  public State output() {
    State state = input();
    for (ArrayStep step : steps) {
      state = step.after(state);
    }
    return state;
  }

  /** Output axis {@code i} is input axis {@code permutation().axis(i)}. */
  public Permutation permutation() {
    Permutation all = Permutation.identity(extents.rank());
    for (ArrayStep step : steps) {
      all = all.then(step.axes(extents.rank()));
    }
    return all;
  }

  /** Input axes along which every part must be whole. */
  public Set<Integer> whole() {
    Set<Integer> axes = new TreeSet<>();
    Permutation at = Permutation.identity(extents.rank());
    State state = input();
    for (ArrayStep step : steps) {
      for (int axis : step.whole()) {
        axes.add(at.axis(axis));
      }
      State next = step.after(state);
      Permutation moved = step.axes(extents.rank());
      for (int axis = 0; axis < extents.rank(); axis++) {
        if (next.shape().extent(axis) != state.shape().extent(moved.axis(axis))) {
          axes.add(at.axis(moved.axis(axis)));
        }
      }
      at = at.then(moved);
      state = next;
    }
    return axes;
  }

  /** The shape of full blocks of the result, from that of full blocks that are taken. */
  public Shape blockShape(Shape taken) {
    Permutation permutation = permutation();
    Shape grown = permutation.inverse().apply(output().shape());
    long[] shape = new long[extents.rank()];
    for (int axis = 0; axis < shape.length; axis++) {
      boolean isWhole = taken.extent(axis) >= extents.extent(axis);
      shape[axis] = isWhole ? grown.extent(axis) : taken.extent(axis);
    }
    return permutation.apply(Shape.of(shape));
  }

  /**
   * What happens to a part.
   *
   * @param part where it lies; whole along the axes of {@link #whole}
   * @param trend the numbers of a trend that come with the part; null where none come
   */
  public Part on(Box part, double[] trend) {
    List<BlockStep> bound = new ArrayList<>();
    State state = input();
    Box place = part;
    for (ArrayStep step : steps) {
      bound.add(step.onPart(state, place, trend));
      place = step.place(state, place);
      state = step.after(state);
    }
    return new Part(new BlockProgram(Shape.of(part.sizes()), type, isComplex, bound), place);
  }

  /**
   * Both programs as one, on the same parts. Permutations that meet become one, or none.
   *
   * @throws IllegalArgumentException if {@code next} does not take what this gives
   */
  public ArrayProgram then(ArrayProgram next) {
    if (!output().equals(next.input())) {
      throw new IllegalArgumentException(
          "A program on " + next.input() + " after one that gives " + output());
    }
    List<ArrayStep> all = new ArrayList<>(steps);
    for (ArrayStep step : next.steps) {
      Optional<Permutation> last =
          all.isEmpty() ? Optional.empty() : all.get(all.size() - 1).asPermutation();
      Optional<Permutation> both =
          last.flatMap(first -> step.asPermutation().map(second -> first.then(second)));
      if (both.isEmpty()) {
        all.add(step);
      } else {
        all.remove(all.size() - 1);
        if (!both.get().isIdentity()) {
          all.add(new Permute(both.get()));
        }
      }
    }
    return new ArrayProgram(extents, type, isComplex, all);
  }

  /** As EXPLAIN shows it: {@code "transform over yz, permute yzx"}. */
  @Override
  public String toString() {
    return steps.stream().map(ArrayStep::toString).collect(joining(", "));
  }
}
