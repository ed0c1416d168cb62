package org.tilespark.arrow.arrays;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toSet;

import java.io.Serializable;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.tilespark.arrow.arrays.FourierChain.State;
import org.tilespark.kernels.fourier.FourierProblem;
import org.tilespark.kernels.fourier.FourierProblem.Kind;
import org.tilespark.layout.Box;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * One step that an array takes on its way through a {@link FourierChain}. A step of a whole array
 * is bound to a part of it by {@link #onPart}; a chain holds bound steps only. Axes are counted
 * from 0, outermost first, in the array as the step before left it. Vectors, one per axis, come
 * outermost axis first, each as long as that axis; what depends on the place of a part in the whole
 * array is in these vectors.
 */
public interface ArrayStep extends Serializable {
  /**
   * What the array is after this step.
   *
   * @param before what it is before
   * @throws IllegalArgumentException if this step cannot be done on such an array; says why
   */
  State after(State before);

  /** Axes along which a part must be whole, besides those whose extent changes. */
  default Set<Integer> whole() {
    return Set.of();
  }

  /**
   * Where a part of the whole array lies after this step.
   *
   * @param before the whole array before this step
   * @param part where the part lies before this step
   */
  default Box place(State before, Box part) {
    return part;
  }

  /**
   * This step for a part of the whole array.
   *
   * @param before the whole array before this step
   * @param part where the part lies before this step
   * @param trend the numbers of a trend that come with the part; null where none come
   */
  default ArrayStep onPart(State before, Box part, double[] trend) {
    return this;
  }

  /** The sign of the exponent. */
  enum Direction {
    /** {@code exp(-2 pi i j k / n)}: from values to a spectrum. */
    FORWARD,
    /** {@code exp(+2 pi i j k / n)}: from a spectrum to values. */
    INVERSE
  }

  /** What is on the two sides of a transform. */
  enum Form {
    /** Complex numbers on both. */
    COMPLEX,
    /**
     * Real values on one side and the half spectrum on the other: of the last axis named, of extent
     * n on the real side, the spectrum keeps the frequencies 0 to n / 2 (rounded down). Forward
     * takes real values, inverse gives them.
     */
    REAL
  }

  /**
   * A discrete Fourier transform over some of the axes, each of them whole in the array. Sums are
   * not normalised but multiplied by {@code scale}.
   *
   * @param axes which, each once; with {@link Form#REAL} the last one is the halved one
   * @param realExtent with {@link Form#REAL} and {@link Direction#INVERSE} the extent n of the
   *     halved axis on the real side; otherwise ignored, 0
   * @param scale factor of every result; 1 for none
   */
  record Fourier(List<Integer> axes, Form form, Direction direction, long realExtent, double scale)
      implements ArrayStep {
    /** Copies the list. */
    public Fourier {
      axes = List.copyOf(axes);
    }

    /** The transform, without the factor. */
    FourierProblem problem(State before) {
      boolean inverse = direction == Direction.INVERSE;
      Kind kind =
          form == Form.COMPLEX
              ? (inverse ? Kind.INVERSE : Kind.FORWARD)
              : (inverse ? Kind.HALF_TO_REAL : Kind.REAL_TO_HALF);
      return new FourierProblem(
          before.shape(), before.type(), axes, kind, kind == Kind.HALF_TO_REAL ? realExtent : 0);
    }

    @Override
    public State after(State before) {
      FourierProblem problem = problem(before);
      if (problem.inputIsComplex() != before.isComplex()) {
        throw new IllegalArgumentException(
            "%s takes %s"
                .formatted(
                    problem.kind(), problem.inputIsComplex() ? "complex numbers" : "real values"));
      }
      if (!Double.isFinite(scale)) {
        throw new IllegalArgumentException("the factor is " + scale);
      }
      return new State(problem.outputShape(), before.type(), problem.outputIsComplex());
    }

    @Override
    public Set<Integer> whole() {
      return Set.copyOf(axes);
    }

    @Override
    public Box place(State before, Box part) {
      return grown(part, axes, after(before).shape());
    }

    @Override
    public String toString() {
      return (direction == Direction.INVERSE ? "inverse " : "")
          + (form == Form.REAL ? "real " : "")
          + "transform over "
          + axes.stream().map(axis -> "xyz".substring(axis, axis + 1)).collect(joining());
    }
  }

  /** Output axis {@code i} is input axis {@code permutation.axis(i)}. */
  record Permute(Permutation permutation) implements ArrayStep {
    @Override
    public State after(State before) {
      return new State(permutation.apply(before.shape()), before.type(), before.isComplex());
    }

    @Override
    public Box place(State before, Box part) {
      return Box.at(permutation.apply(part.offset()), permutation.apply(part.sizes()));
    }

    @Override
    public String toString() {
      return "permute " + permutation.letters();
    }
  }

  /**
   * Subtracts from the element at (i, j, k) the sum of one number per axis: a mean, or a linear
   * trend.
   *
   * @param real of the real parts: one vector per axis
   * @param imag of the imaginary parts; empty if the array is real
   */
  record Subtract(List<double[]> real, List<double[]> imag) implements ArrayStep {
    /** Copies the lists, not the vectors. */
    public Subtract {
      real = List.copyOf(real);
      imag = List.copyOf(imag);
    }

    @Override
    public State after(State before) {
      requireVectors("real", real, before);
      if (before.isComplex()) {
        requireVectors("imaginary", imag, before);
      } else if (!imag.isEmpty()) {
        throw new IllegalArgumentException("imaginary parts to subtract from real values");
      }
      return before;
    }
  }

  /**
   * Multiplies the element at (i, j, k) by the product of one factor per axis: a window, or a
   * filter that is separable.
   *
   * @param factors one vector per axis
   */
  record Scale(List<double[]> factors) implements ArrayStep {
    /** Copies the list, not the vectors. */
    public Scale {
      factors = List.copyOf(factors);
    }

    @Override
    public State after(State before) {
      requireVectors("factor", factors, before);
      return before;
    }
  }

  /**
   * Sets the element at (i, j, k) to zero where the sum of one term per axis is above a limit: a
   * low pass, where the terms are squared frequencies.
   *
   * @param terms one vector per axis
   */
  record KeepUpTo(List<double[]> terms, double limit) implements ArrayStep {
    /** Copies the list, not the vectors. */
    public KeepUpTo {
      terms = List.copyOf(terms);
    }

    @Override
    public State after(State before) {
      requireVectors("term", terms, before);
      return before;
    }
  }

  /**
   * Puts the array into a larger one of zeros.
   *
   * @param shape of the larger one
   * @param low where the array's first element goes, one number per axis
   */
  record Pad(Shape shape, List<Long> low) implements ArrayStep {
    /** Copies the list. */
    public Pad {
      low = List.copyOf(low);
    }

    /** Adds zeros behind the last element of each axis. */
    public Pad(Shape shape) {
      this(shape, Collections.nCopies(shape.rank(), 0L));
    }

    @Override
    public State after(State before) {
      requireInside(before.shape(), low, shape);
      return new State(shape, before.type(), before.isComplex());
    }

    @Override
    public Box place(State before, Box part) {
      List<Integer> axes =
          IntStream.range(0, shape.rank())
              .filter(axis -> shape.extent(axis) != before.shape().extent(axis))
              .boxed()
              .toList();
      return grown(part, axes, shape);
    }

    @Override
    public ArrayStep onPart(State before, Box part, double[] trend) {
      return new Pad(Shape.of(place(before, part).sizes()), low);
    }

    @Override
    public String toString() {
      return "pad to " + shape;
    }
  }

  /**
   * Takes a part of the array.
   *
   * @param shape of the part
   * @param low the part's first element, one number per axis
   */
  record Crop(Shape shape, List<Long> low) implements ArrayStep {
    /** Copies the list. */
    public Crop {
      low = List.copyOf(low);
    }

    @Override
    public State after(State before) {
      requireInside(shape, low, before.shape());
      return new State(shape, before.type(), before.isComplex());
    }
  }

  /**
   * Moves every element, cyclically: what was at index i of an axis of extent n is at {@code (i +
   * shift) mod n} after.
   *
   * @param shifts one per axis, of either sign
   */
  record Roll(List<Long> shifts) implements ArrayStep {
    /** Copies the list. */
    public Roll {
      shifts = List.copyOf(shifts);
    }

    @Override
    public State after(State before) {
      requireRank(shifts.size(), before.shape());
      return before;
    }

    @Override
    public Set<Integer> whole() {
      return IntStream.range(0, shifts.size())
          .filter(axis -> shifts.get(axis) != 0)
          .boxed()
          .collect(toSet());
    }

    @Override
    public String toString() {
      return "roll by " + shifts;
    }
  }

  /**
   * Complex numbers to the squares of their absolute values, real.
   *
   * @param scale factor of every result
   */
  record Power(double scale) implements ArrayStep {
    @Override
    public State after(State before) {
      if (!before.isComplex()) {
        throw new IllegalArgumentException("it takes complex numbers");
      }
      return new State(before.shape(), before.type(), false);
    }

    @Override
    public String toString() {
      return "power";
    }
  }

  private static Box grown(Box part, List<Integer> axes, Shape whole) {
    long[] sizes = part.sizes();
    axes.forEach(axis -> sizes[axis] = whole.extent(axis));
    return Box.at(part.offset(), sizes);
  }

  private static void requireRank(int rank, Shape shape) {
    if (rank != shape.rank()) {
      throw new IllegalArgumentException(
          "it names " + rank + " axes, the array has " + shape.rank());
    }
  }

  private static void requireVectors(String what, List<double[]> vectors, State state) {
    requireRank(vectors.size(), state.shape());
    for (int axis = 0; axis < vectors.size(); axis++) {
      if (vectors.get(axis).length != state.shape().extent(axis)) {
        throw new IllegalArgumentException(
            "the %s vector of axis %s has %s numbers, the axis %s"
                .formatted(what, axis, vectors.get(axis).length, state.shape().extent(axis)));
      }
    }
  }

  private static void requireInside(Shape part, List<Long> low, Shape whole) {
    requireRank(part.rank(), whole);
    requireRank(low.size(), whole);
    for (int axis = 0; axis < low.size(); axis++) {
      if (part.extent(axis) < 1
          || low.get(axis) < 0
          || low.get(axis) > whole.extent(axis) - part.extent(axis)) {
        throw new IllegalArgumentException(
            part + " from " + low + " on does not lie inside " + whole);
      }
    }
  }
}
