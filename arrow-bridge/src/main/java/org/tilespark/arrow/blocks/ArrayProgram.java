package org.tilespark.arrow.blocks;

import static java.util.stream.Collectors.joining;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.tilespark.arrow.blocks.ArrayStep.Given;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Extents;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * What happens to a whole array between two exchanges, and to each part of it. Parts may be cut in
 * any way along the axes that {@link #whole} does not name. Steps may take further arrays, of which
 * programs of their own say what becomes of them first; see {@link #inputs}.
 *
 * @param extents of the whole array as it comes; unknown ones suffice for steps that say so
 * @param type of its elements, or of their parts
 * @param isComplex true if it is taken as complex numbers
 * @param steps first to last
 */
public record ArrayProgram(
    Extents extents, ElementType type, boolean isComplex, List<ArrayStep> steps)
    implements Serializable {
  /**
   * What happens to one part.
   *
   * @param program the steps
   * @param place where the result lies in the whole result
   */
  public record Part(BlockProgram program, Box place) {}

  /**
   * Copies the list.
   *
   * @throws IllegalArgumentException if a step needs extents that are not known
   */
  public ArrayProgram {
    steps = List.copyOf(steps);
    for (ArrayStep step : steps) {
      if (step.needsExtents() && extents.known().isEmpty()) {
        throw new IllegalArgumentException(step + " of an array whose extents are not known");
      }
    }
  }

  /** A program on an array whose extents are known. */
  public ArrayProgram(Shape shape, ElementType type, boolean isComplex, List<ArrayStep> steps) {
    this(Extents.of(shape), type, isComplex, steps);
  }

  /** Only a permutation of the axes. */
  public static ArrayProgram reordering(
      Extents extents, ElementType type, boolean isComplex, Permutation permutation) {
    return new ArrayProgram(extents, type, isComplex, List.of(new Permute(permutation)));
  }

  /** The whole array as it comes; its extents are 1 if they are not known. */
  private State first() {
    return new State(extents.orOnes(), type, isComplex);
  }

  /** The whole result; its extents count only if those of the input are known. */
  public State output() {
    State state = first();
    for (ArrayStep step : steps) {
      state = step.after(state);
    }
    return state;
  }

  /** Those of the result. */
  public Extents outputExtents() {
    return extents.with(output().shape());
  }

  /** True if a device needs cuFFT for it. */
  public boolean needsTransforms() {
    return inputs().stream()
        .flatMap(input -> input.steps.stream())
        .anyMatch(ArrayStep::needsTransforms);
  }

  /**
   * The programs of all arrays that are taken: this one, then those of the others that its steps
   * take, in the order in which they are taken.
   */
  public List<ArrayProgram> inputs() {
    List<ArrayProgram> inputs = new ArrayList<>(List.of(this));
    for (ArrayStep step : steps) {
      step.others().forEach(other -> inputs.addAll(other.inputs()));
    }
    return inputs;
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
    State state = first();
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
    if (extents.known().isEmpty()) { // no step makes blocks larger or smaller
      return permutation().apply(taken);
    }
    Shape whole = extents.require();
    Permutation permutation = permutation();
    Shape grown = permutation.inverse().apply(output().shape());
    long[] shape = new long[extents.rank()];
    for (int axis = 0; axis < shape.length; axis++) {
      boolean isWhole = taken.extent(axis) >= whole.extent(axis);
      shape[axis] = isWhole ? grown.extent(axis) : taken.extent(axis);
    }
    return permutation.apply(Shape.of(shape));
  }

  /** What happens to one part after another. */
  public Binding binding() {
    return new Binding(this);
  }

  /** Binds a program to parts, and remembers what parts of equal size share. For one thread. */
  public static final class Binding {
    private final ArrayProgram program;
    private final List<State> states = new ArrayList<>(); // of the whole array; none if unknown
    private final boolean dependsOnPlace;
    private final List<List<Binding>> others; // of each step
    private long[] sizes; // of the part before; null before the first
    private BlockProgram bound; // to that

    private Binding(ArrayProgram program) {
      this.program = program;
      this.dependsOnPlace = program.steps.stream().anyMatch(ArrayStep::dependsOnPlace);
      this.others =
          program.steps.stream()
              .<List<Binding>>map(step -> step.others().stream().map(Binding::new).toList())
              .toList();
      if (program.extents.known().isPresent()) {
        State state = program.first();
        for (ArrayStep step : program.steps) {
          states.add(state);
          state = step.after(state);
        }
      }
    }

    /**
     * What happens to a part.
     *
     * @param parts where it lies, whole along the axes of {@link ArrayProgram#whole}; then where the
     *     parts of the other {@link ArrayProgram#inputs} lie that meet it
     * @param trend the numbers of a trend that come with the part; null where none come
     * @throws IllegalArgumentException if two parts do not meet; says where they lie
     */
    public Part on(List<Box> parts, double[] trend) {
      return on(parts.iterator(), trend);
    }

    private Part on(Iterator<Box> parts, double[] trend) {
      Box part = parts.next();
      boolean isBound = !dependsOnPlace && Arrays.equals(part.sizes(), sizes);
      List<BlockStep> steps = new ArrayList<>();
      State local = new State(Shape.of(part.sizes()), program.type, program.isComplex);
      Box place = part;
      for (int i = 0; i < program.steps.size(); i++) {
        ArrayStep step = program.steps.get(i);
        State before = states.isEmpty() ? local : states.get(i);
        if (!isBound) {
          steps.add(step.onPart(before, place, new Given(trend, met(i, place, parts, trend))));
        }
        place = step.place(before, place);
        local = states.isEmpty() ? step.after(local) : local;
      }
      if (!isBound) {
        sizes = part.sizes();
        bound = new BlockProgram(Shape.of(part.sizes()), program.type, program.isComplex, steps);
      }
      return new Part(bound, place);
    }

    /** What becomes of the parts of other arrays that a step takes. */
    private List<BlockProgram> met(int step, Box place, Iterator<Box> parts, double[] trend) {
      List<BlockProgram> met = new ArrayList<>();
      for (Binding other : others.get(step)) {
        Part part = other.on(parts, trend);
        for (int axis = 0; axis < place.rank(); axis++) {
          boolean isRepeated = part.place.size(axis) == 1 && part.place.low(axis) == 0;
          if (!isRepeated
              && (part.place.low(axis) != place.low(axis)
                  || part.place.size(axis) != place.size(axis))) {
            throw new IllegalArgumentException(
                "A part at %s does not meet one at %s".formatted(part.place, place));
          }
        }
        met.add(part.program);
      }
      return met;
    }
  }

  /** True if {@link #then} can be asked for: {@code next} takes what this gives. */
  public boolean fits(ArrayProgram next) {
    State output = output();
    return output.type() == next.type
        && output.isComplex() == next.isComplex
        && outputExtents().mayBe(next.extents);
  }

  /**
   * Both programs as one, on the same parts. Permutations that meet become one, or none.
   *
   * @throws IllegalArgumentException if {@code next} does not take what this gives
   */
  public ArrayProgram then(ArrayProgram next) {
    if (!fits(next)) {
      throw new IllegalArgumentException(
          "A program on an array %s, %s%s after one that gives %s"
              .formatted(next.extents, next.isComplex ? "complex " : "", next.type, output()));
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
    return new ArrayProgram(known(next), type, isComplex, all);
  }

  /**
   * This program with one more in front of one of its inputs.
   *
   * @param input number among {@link #inputs}
   * @param first what becomes of that array first
   * @throws IllegalArgumentException if the input does not take what {@code first} gives
   */
  public ArrayProgram behind(int input, ArrayProgram first) {
    if (input == 0) {
      return first.then(this);
    }
    List<ArrayStep> all = new ArrayList<>();
    int begin = 1; // number of the next other's own input
    for (ArrayStep step : steps) {
      List<ArrayProgram> others = new ArrayList<>();
      for (ArrayProgram other : step.others()) {
        int end = begin + other.inputs().size();
        boolean isIn = input >= begin && input < end;
        others.add(isIn ? other.behind(input - begin, first) : other);
        begin = end;
      }
      all.add(others.equals(step.others()) ? step : step.withOthers(others));
    }
    return new ArrayProgram(extents, type, isComplex, all);
  }

  /** The extents of the input, which may follow from those that {@code next} knows. */
  private Extents known(ArrayProgram next) {
    boolean follow = extents.known().isEmpty() && next.extents.known().isPresent();
    return follow ? Extents.of(permutation().inverse().apply(next.extents.require())) : extents;
  }

  /** As EXPLAIN shows it: {@code "transform over yz, permute yzx"}. */
  @Override
  public String toString() {
    return steps.isEmpty()
        ? "as it is"
        : steps.stream().map(ArrayStep::toString).collect(joining(", "));
  }
}
