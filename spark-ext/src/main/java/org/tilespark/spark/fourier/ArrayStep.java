package org.tilespark.spark.fourier;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.tilespark.arrow.arrays.FourierStep;
import org.tilespark.arrow.arrays.FourierStep.Direction;
import org.tilespark.arrow.arrays.FourierStep.Form;
import org.tilespark.layout.Box;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.options.Window;

/**
 * One thing that happens to a whole array, and what of it happens to a part. Axes are counted in
 * the array as the step before left it.
 */
public sealed interface ArrayStep extends Serializable {
  /**
   * The whole array between two steps.
   *
   * @param extents of it
   * @param isComplex true if its elements are complex numbers
   */
  record State(Shape extents, boolean isComplex) implements Serializable {}

  /** The whole array after this step. */
  State after(State before);

  /** Axes along which a part must be whole. */
  Set<Integer> whole();

  /** Where a part lies after this step. */
  Box after(State before, Box part);

  /**
   * What happens to a part.
   *
   * @param part where it lies before this step
   * @param trend what {@link Detrend} takes off, see there; else ignored
   */
  FourierStep on(State before, Box part, double[] trend);

  /**
   * A discrete Fourier transform over some axes.
   *
   * @param axes the last one is the halved one of a real transform
   * @param isReal true if real values are on one side and half a spectrum on the other
   * @param inverse true from a spectrum to values
   * @param realExtent extent of the halved axis on the real side, of an inverse; else 0
   * @param scale factor of every result
   */
  record Transform(
      List<Integer> axes, boolean isReal, boolean inverse, long realExtent, double scale)
      implements ArrayStep {
    /** Copies the list. */
    public Transform {
      axes = List.copyOf(axes);
    }

    @Override
    public State after(State before) {
      if (!isReal) {
        return before;
      }
      int last = axes.get(axes.size() - 1);
      long[] extents = before.extents().toArray();
      extents[last] = inverse ? realExtent : extents[last] / 2 + 1;
      return new State(Shape.of(extents), !inverse);
    }

    @Override
    public Set<Integer> whole() {
      return Set.copyOf(axes);
    }

    @Override
    public Box after(State before, Box part) {
      long[] size = part.sizes();
      Shape extents = after(before).extents();
      axes.forEach(axis -> size[axis] = extents.extent(axis));
      return Box.at(part.offset(), size);
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      return new FourierStep.Fourier(
          axes,
          isReal ? Form.REAL : Form.COMPLEX,
          inverse ? Direction.INVERSE : Direction.FORWARD,
          isReal && inverse ? realExtent : 0,
          scale);
    }

    @Override
    public String toString() {
      return (inverse ? "inverse " : "")
          + (isReal ? "real " : "")
          + "transform over "
          + letters(axes);
    }
  }

  /** Output axis {@code i} is input axis {@code permutation.axis(i)}. */
  record Reorder(Permutation permutation) implements ArrayStep {
    @Override
    public State after(State before) {
      return new State(permutation.apply(before.extents()), before.isComplex());
    }

    @Override
    public Set<Integer> whole() {
      return Set.of();
    }

    @Override
    public Box after(State before, Box part) {
      return Box.at(permutation.apply(part.offset()), permutation.apply(part.sizes()));
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      return new FourierStep.Permute(permutation);
    }

    @Override
    public String toString() {
      return "permute " + permutation.letters();
    }
  }

  /**
   * Takes a mean or a linear trend off every element: {@code a + b i + c j + d k} at the element
   * (i, j, k) of the whole array. The numbers a, b, c, d of the real parts, then those of the
   * imaginary parts, come with the blocks.
   */
  record Detrend() implements ArrayStep {
    @Override
    public State after(State before) {
      return before;
    }

    @Override
    public Set<Integer> whole() {
      return Set.of();
    }

    @Override
    public Box after(State before, Box part) {
      return part;
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      return new FourierStep.Subtract(
          vectors(part, trend, 0),
          before.isComplex() ? vectors(part, trend, 1 + part.rank()) : List.of());
    }

    private static List<double[]> vectors(Box part, double[] trend, int first) {
      List<double[]> vectors = new ArrayList<>();
      for (int axis = 0; axis < part.rank(); axis++) {
        double[] vector = new double[Math.toIntExact(part.size(axis))];
        double slope = trend[first + 1 + axis];
        double constant = axis == 0 ? trend[first] : 0;
        long low = part.low(axis);
        Arrays.setAll(vector, i -> constant + slope * (low + i));
        vectors.add(vector);
      }
      return vectors;
    }

    @Override
    public String toString() {
      return "detrend";
    }
  }

  /** Multiplies by a window along each axis. */
  record Taper(List<Window> windows) implements ArrayStep {
    /** Copies the list. */
    public Taper {
      windows = List.copyOf(windows);
    }

    @Override
    public State after(State before) {
      return before;
    }

    @Override
    public Set<Integer> whole() {
      return Set.of();
    }

    @Override
    public Box after(State before, Box part) {
      return part;
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      List<double[]> factors = new ArrayList<>();
      for (int axis = 0; axis < part.rank(); axis++) {
        factors.add(
            windows
                .get(axis)
                .factors(
                    before.extents().extent(axis),
                    part.low(axis),
                    Math.toIntExact(part.size(axis))));
      }
      return new FourierStep.Scale(factors);
    }

    @Override
    public String toString() {
      return "window " + windows;
    }
  }

  /** Adds zeros behind the last element of some axes. */
  record Pad(Shape extents) implements ArrayStep {
    @Override
    public State after(State before) {
      return new State(extents, before.isComplex());
    }

    /** All that it could grow; {@link #after(State, Box)} looks at those that do. */
    @Override
    public Set<Integer> whole() {
      return Set.of();
    }

    @Override
    public Box after(State before, Box part) {
      long[] size = part.sizes();
      for (int axis = 0; axis < size.length; axis++) {
        if (extents.extent(axis) != before.extents().extent(axis)) {
          size[axis] = extents.extent(axis);
        }
      }
      return Box.at(part.offset(), size);
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      Box padded = after(before, part);
      Long[] low = new Long[part.rank()];
      Arrays.fill(low, 0L);
      return new FourierStep.Pad(Shape.of(padded.sizes()), List.of(low));
    }

    @Override
    public String toString() {
      return "pad to " + extents;
    }
  }

  /**
   * Moves every element cyclically, so that index i of an axis of extent n comes to {@code (i +
   * shift) mod n}.
   */
  record Roll(List<Long> shifts) implements ArrayStep {
    /** Copies the list. */
    public Roll {
      shifts = List.copyOf(shifts);
    }

    @Override
    public State after(State before) {
      return before;
    }

    @Override
    public Set<Integer> whole() {
      Set<Integer> axes = new HashSet<>();
      for (int axis = 0; axis < shifts.size(); axis++) {
        if (shifts.get(axis) != 0) {
          axes.add(axis);
        }
      }
      return axes;
    }

    @Override
    public Box after(State before, Box part) {
      return part;
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      return new FourierStep.Roll(shifts);
    }

    @Override
    public String toString() {
      return "roll by " + shifts;
    }
  }

  /**
   * Sets to zero what has a frequency above a cutoff.
   *
   * @param cutoff greatest absolute value of a frequency that is kept
   * @param axes frequencies along each axis that was transformed
   */
  record LowPass(double cutoff, Map<Integer, AxisFrequencies> axes) implements ArrayStep {
    /** Copies the map. */
    public LowPass {
      axes = Map.copyOf(axes);
    }

    @Override
    public State after(State before) {
      return before;
    }

    @Override
    public Set<Integer> whole() {
      return Set.of();
    }

    @Override
    public Box after(State before, Box part) {
      return part;
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      List<double[]> terms = new ArrayList<>();
      for (int axis = 0; axis < part.rank(); axis++) {
        double[] squares = new double[Math.toIntExact(part.size(axis))];
        AxisFrequencies frequencies = axes.get(axis);
        if (frequencies != null) {
          long low = part.low(axis);
          Arrays.setAll(squares, i -> Math.pow(frequencies.at(low + i), 2));
        }
        terms.add(squares);
      }
      return new FourierStep.KeepUpTo(terms, cutoff * cutoff);
    }

    @Override
    public String toString() {
      return "low pass up to " + cutoff;
    }
  }

  /** Complex numbers to the squares of their absolute values. */
  record Power() implements ArrayStep {
    @Override
    public State after(State before) {
      return new State(before.extents(), false);
    }

    @Override
    public Set<Integer> whole() {
      return Set.of();
    }

    @Override
    public Box after(State before, Box part) {
      return part;
    }

    @Override
    public FourierStep on(State before, Box part, double[] trend) {
      return new FourierStep.Power(1);
    }

    @Override
    public String toString() {
      return "power";
    }
  }

  private static String letters(List<Integer> axes) {
    StringBuilder text = new StringBuilder();
    axes.forEach(axis -> text.append("xyz".charAt(axis)));
    return text.toString();
  }
}
