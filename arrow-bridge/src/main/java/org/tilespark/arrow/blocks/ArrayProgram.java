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
import java.util.stream.Stream;
import org.tilespark.arrow.blocks.ArrayStep.Given;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.AxisRange;
import org.tilespark.layout.Box;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Extents;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * The steps on a whole array between two exchanges (shuffles); they also run on each part of the
 * array. Parts may be cut in any way along the axes that {@link #cutAxes} does not name. Steps may
 * take further arrays, each with its own program that runs first; see {@link #inputs}.
 *
 * @param extents extents of the whole input array; they may be unknown if no step needs them
 * @param type element type, or the type of the parts of complex numbers
 * @param isComplex true if the input is complex
 * @param steps the steps, first to last
 */
public record ArrayProgram(
    Extents extents, ElementType type, boolean isComplex, List<ArrayStep> steps)
    implements Serializable {
  /**
   * The program for one part of the array.
   *
   * @param program the steps
   * @param place box of the part's result in the whole result
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

  /** A program that only permutes the axes. */
  public static ArrayProgram reordering(
      Extents extents, ElementType type, boolean isComplex, Permutation permutation) {
    return new ArrayProgram(extents, type, isComplex, List.of(new Permute(permutation)));
  }

  /** The state of the whole input array; unknown extents count as 1, which steps accept. */
  private State first() {
    return new State(extents.orOnes(), type, isComplex);
  }

  /**
   * The state of the whole result; its extents are meaningful only if those of the input are known.
   */
  public State output() {
    State state = first();
    for (ArrayStep step : steps) {
      state = step.after(state);
    }
    return state;
  }

  /** The extents of the result. */
  public Extents outputExtents() {
    return extents.with(output().shape());
  }

  /** True if a device needs cuFFT for this program. */
  public boolean needsTransforms() {
    return inputs().stream()
        .flatMap(input -> input.steps.stream())
        .anyMatch(ArrayStep::needsTransforms);
  }

  /**
   * True if a device can run this program for many small arrays at once; see {@link
   * ArrayStep#isBatched}.
   */
  public boolean isBatched() {
    return inputs().stream().flatMap(input -> input.steps.stream()).allMatch(ArrayStep::isBatched);
  }

  /**
   * The programs of all input arrays: this one, then those of the further arrays that its steps
   * take, in the order in which the steps take them.
   */
  public List<ArrayProgram> inputs() {
    List<ArrayProgram> inputs = new ArrayList<>(List.of(this));
    for (ArrayStep step : steps) {
      step.others().forEach(other -> inputs.addAll(other.inputs()));
    }
    return inputs;
  }

  /**
   * The order of the result's axes: output axis {@code i} is input axis {@code
   * permutation().axis(i)}.
   */
  public Permutation permutation() {
    Permutation all = Permutation.identity(extents.rank());
    for (ArrayStep step : steps) {
      all = all.then(step.axes(extents.rank()));
    }
    return all;
  }

  /** The permutation that this program consists of, if it does nothing else. */
  public Optional<Permutation> asPermutation() {
    return steps.stream().allMatch(step -> step.asPermutation().isPresent())
        ? Optional.of(permutation())
        : Optional.empty();
  }

  /**
   * The corresponding axes of the inputs: axis {@code i} of the first of {@link #inputs}
   * corresponds to axis {@code meetings().get(input).axis(i)} of input {@code input}.
   */
  public List<Permutation> meetings() {
    List<Permutation> meetings = new ArrayList<>(List.of(Permutation.identity(extents.rank())));
    Permutation at = Permutation.identity(extents.rank());
    for (ArrayStep step : steps) {
      for (ArrayProgram other : step.others()) {
        Permutation met = other.permutation().then(at.inverse());
        other.meetings().forEach(each -> meetings.add(each.then(met)));
      }
      at = at.then(step.axes(extents.rank()));
    }
    return meetings;
  }

  /**
   * Input axes along which parts cannot be cut freely.
   *
   * @param whole axes along which every part must be whole
   * @param sliced axes along which a slice is taken, so that parts move or are dropped
   */
  public record CutAxes(Set<Integer> whole, Set<Integer> sliced) {}

  /** Input axes along which parts must be whole, or are sliced. */
  public CutAxes cutAxes() {
    Set<Integer> whole = new TreeSet<>();
    Set<Integer> sliced = new TreeSet<>();
    Permutation at = Permutation.identity(extents.rank());
    State state = first();
    for (ArrayStep step : steps) {
      for (int axis : step.wholeAxes(state)) {
        if (!sliced.contains(at.axis(axis))) { // else the slice must be whole, not the input
          whole.add(at.axis(axis));
        }
      }
      for (int axis : step.sliced(state)) {
        sliced.add(at.axis(axis));
      }
      at = at.then(step.axes(extents.rank()));
      state = step.after(state);
    }
    return new CutAxes(whole, sliced);
  }

  /**
   * The elementwise programs of the steps, in order, if they read nothing but the element; empty if
   * there are other steps, or if the element type changes.
   */
  public Optional<List<ElementwiseProgram>> ofElements() {
    boolean keepsType =
        Stream.concat(statesBefore().stream(), Stream.of(output()))
            .allMatch(state -> !state.isComplex() && state.type() == type);
    List<ElementwiseProgram> programs =
        steps.stream().flatMap(step -> step.ofElements().stream()).toList();
    return keepsType && programs.size() == steps.size() ? Optional.of(programs) : Optional.empty();
  }

  /** True if this program only takes some of the elements and moves blocks to other places. */
  public boolean isSelection() {
    return steps.stream().allMatch(ArrayStep::isSelection);
  }

  /**
   * A range of elements along one axis.
   *
   * @param axis index of the axis
   */
  public record Along(int axis, AxisRange range) {}

  /**
   * The input elements along an axis from which the given elements of the result are computed;
   * empty if there are none.
   *
   * @param result elements along an axis of the result
   */
  public Optional<Along> needed(Along result) {
    int axis = result.axis;
    Optional<AxisRange> range = Optional.of(result.range);
    List<State> before = statesBefore();
    for (int i = steps.size() - 1; i >= 0 && range.isPresent(); i--) {
      ArrayStep step = steps.get(i);
      State state = before.get(i);
      int from = step.axes(extents.rank()).axis(axis);
      range = step.needed(state, from, range.get());
      axis = from;
    }
    int at = axis;
    return range.map(found -> new Along(at, found));
  }

  /** The whole array before each step. */
  private List<State> statesBefore() {
    List<State> states = new ArrayList<>();
    State state = first();
    for (ArrayStep step : steps) {
      states.add(state);
      state = step.after(state);
    }
    return states;
  }

  /**
   * True if parts must be cells of a tiling, so that the whole array may not be accepted as a part.
   */
  public boolean takesCells() {
    return steps.stream().anyMatch(ArrayStep::takesCells);
  }

  /** The shape of full blocks of the result, from that of full blocks of the input. */
  public Shape blockShape(Shape taken) {
    if (extents.known().isEmpty()) { // no step makes blocks larger or smaller
      return permutation().apply(taken);
    }
    State state = first();
    Shape blocks = taken;
    for (ArrayStep step : steps) {
      blocks = step.blockShape(state, blocks);
      state = step.after(state);
    }
    return blocks;
  }

  /** A binding, which derives the programs of parts, one after another. */
  public Binding binding() {
    return new Binding(this);
  }

  /**
   * Makes the programs of parts, and caches what parts of equal size share. Neighbouring
   * elementwise steps are joined. For one thread.
   */
  public static final class Binding {
    private final ArrayProgram program;
    private final List<State> states = new ArrayList<>(); // of the whole array; none if unknown
    private final boolean dependsOnPlace;
    private final List<List<Binding>> others; // of the further arrays of each step
    private final boolean slices;
    private final Compositions compositions = new Compositions();
    private long[] sizes; // of the last part; null before the first part
    private BlockProgram bound; // the program of parts of these sizes
    private List<Box> lastParts = List.of(); // of the last call without a trend
    private Part last; // the result of that call

    private Binding(ArrayProgram program) {
      this.program = program;
      this.slices = !program.cutAxes().sliced().isEmpty();
      this.dependsOnPlace = program.steps.stream().anyMatch(ArrayStep::dependsOnPlace);
      this.others =
          program.steps.stream()
              .<List<Binding>>map(step -> step.others().stream().map(Binding::new).toList())
              .toList();
      if (program.extents.known().isPresent()) {
        states.addAll(program.statesBefore());
      }
    }

    /**
     * True if the result has elements from a part.
     *
     * @param part the part's box
     */
    public boolean keeps(Box part) {
      if (!slices) {
        return true;
      }
      Box place = part;
      for (int i = 0; i < program.steps.size(); i++) {
        if (!program.steps.get(i).keeps(states.get(i), place)) {
          return false;
        }
        place = program.steps.get(i).place(states.get(i), place);
      }
      return true;
    }

    /**
     * The program of a part.
     *
     * @param parts first the part's box, which must be {@linkplain #keeps kept} and be whole along
     *     the axes of {@link CutAxes}; then the boxes of the corresponding parts of the other
     *     {@link ArrayProgram#inputs}
     * @param trend the numbers of a trend that come with the part; null if there are none
     * @throws IllegalArgumentException if two parts do not correspond, or a slice leaves a part
     *     that is not whole along an axis for which a later step needs the whole
     */
    public Part on(List<Box> parts, double[] trend) {
      if (trend != null) {
        return on(parts.iterator(), trend);
      }
      if (!parts.equals(lastParts)) {
        last = on(parts.iterator(), null);
        lastParts = List.copyOf(parts);
      }
      return last;
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
        if (slices) {
          requireWhole(step, before, place);
        }
        ArrayStep onPart = step;
        if (!isBound) {
          Given given = new Given(trend, met(i, place, parts, trend));
          BlockStep made = step.onPart(before, place, given);
          steps.add(made);
          onPart = made;
        }
        place = step.place(before, place);
        local = states.isEmpty() ? onPart.after(local) : local;
      }
      if (!isBound) {
        sizes = part.sizes();
        bound =
            new BlockProgram(
                Shape.of(part.sizes()),
                program.type,
                program.isComplex,
                BlockProgram.joined(steps, compositions));
      }
      return new Part(bound, place);
    }

    /** Programs for the parts of other arrays that a step takes. */
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

    private static void requireWhole(ArrayStep step, State before, Box place) {
      for (int axis : step.wholeAxes(before)) {
        if (place.size(axis) != before.shape().extent(axis)) {
          throw new IllegalArgumentException(
              "%s needs all %s elements along axis %s of what a slice left; the block has %s"
                  .formatted(step, before.shape().extent(axis), axis, place.size(axis)));
        }
      }
    }
  }

  /**
   * True if {@link #then} is possible: {@code next} accepts this program's result, perhaps after
   * the real input of this program is treated as complex.
   */
  public boolean fits(ArrayProgram next) {
    State output = output();
    return output.type() == next.type
        && (output.isComplex() == next.isComplex || (next.isComplex && takesComplex()))
        && outputExtents().mayBe(next.extents);
  }

  /** True if real input may be treated as complex, since this program only moves elements. */
  private boolean takesComplex() {
    return steps.stream().allMatch(step -> step.isSelection() || step.asPermutation().isPresent());
  }

  /**
   * This program followed by {@code next}, as one program on the same parts. Adjacent permutations
   * are composed, or dropped if nothing is left; slices are joined and moved before permutations.
   *
   * @throws IllegalArgumentException if {@code next} does not accept this program's result
   */
  public ArrayProgram then(ArrayProgram next) {
    if (!fits(next)) {
      throw new IllegalArgumentException(
          "A program on an array %s, %s%s after one that gives %s"
              .formatted(next.extents, next.isComplex ? "complex " : "", next.type, output()));
    }
    List<ArrayStep> all = new ArrayList<>(steps);
    next.steps.forEach(step -> append(all, step));
    return new ArrayProgram(
        known(next), type, isComplex || (takesComplex() && next.isComplex), all);
  }

  /**
   * This program with the result of {@code first} in place of one of its inputs.
   *
   * @param input number of that input among {@link #inputs}
   * @param first program that computes that input
   * @throws IllegalArgumentException if the input does not accept the result of {@code first}
   */
  public ArrayProgram behind(int input, ArrayProgram first) {
    if (input == 0) {
      return first.then(this);
    }
    List<ArrayStep> all = new ArrayList<>();
    int begin = 1; // number of the first input of the next other program
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

  /**
   * Appends a step: consecutive permutations are composed, consecutive slices joined, and a slice
   * goes before a permutation.
   */
  private static void append(List<ArrayStep> all, ArrayStep step) {
    if (all.isEmpty()) {
      all.add(step);
      return;
    }
    ArrayStep last = all.remove(all.size() - 1);
    Optional<Permutation> order = last.asPermutation();
    Optional<Permutation> nextOrder = step.asPermutation();
    Optional<Slice> slice = last.asSlice();
    Optional<Slice> nextSlice = step.asSlice();
    if (order.isPresent() && nextOrder.isPresent()) {
      Permutation both = order.get().then(nextOrder.get());
      if (!both.isIdentity()) {
        all.add(new Permute(both));
      }
    } else if (slice.isPresent() && nextSlice.isPresent()) {
      all.add(slice.get().then(nextSlice.get()));
    } else if (order.isPresent() && nextSlice.isPresent()) {
      append(all, nextSlice.get().before(order.get()));
      all.add(last);
    } else {
      all.add(last);
      all.add(step);
    }
  }

  /** The extents of the input, if necessary derived from the extents that {@code next} knows. */
  private Extents known(ArrayProgram next) {
    boolean follow = extents.known().isEmpty() && next.extents.known().isPresent();
    return follow ? Extents.of(permutation().inverse().apply(next.extents.require())) : extents;
  }

  /** The text in EXPLAIN: {@code "transform over yz, permute yzx"}. */
  @Override
  public String toString() {
    return steps.isEmpty()
        ? "as it is"
        : steps.stream().map(ArrayStep::toString).collect(joining(", "));
  }
}
