package org.tilespark.spark.fourier;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BlockStep;
import org.tilespark.arrow.blocks.KeepUpTo;
import org.tilespark.arrow.blocks.Scale;
import org.tilespark.arrow.blocks.Subtract;
import org.tilespark.layout.Box;
import org.tilespark.spark.options.Window;

/**
 * A step whose numbers depend on where an element lies in the whole array. It becomes vectors when
 * it is bound to a part.
 */
sealed interface PositionDependentStep extends ArrayStep {
  @Override
  default State after(State before) {
    return before;
  }

  /**
   * Takes a mean or a linear trend off every element: {@code a + b i + c j + d k} at the element
   * (i, j, k) of the whole array. The numbers a, b, c, d of the real parts, then those of the
   * imaginary parts, come with the blocks.
   */
  record Detrend() implements PositionDependentStep {
    @Override
    public BlockStep onPart(State before, Box part, Given given) {
      return new Subtract(
          vectors(part, given.trend(), 0),
          before.isComplex() ? vectors(part, given.trend(), 1 + part.rank()) : List.of());
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
  record Taper(List<Window> windows) implements PositionDependentStep {
    /** Copies the list. */
    public Taper {
      windows = List.copyOf(windows);
    }

    @Override
    public BlockStep onPart(State before, Box part, Given given) {
      List<double[]> factors = new ArrayList<>();
      for (int axis = 0; axis < part.rank(); axis++) {
        factors.add(
            windows
                .get(axis)
                .factors(
                    before.shape().extent(axis), part.low(axis), Math.toIntExact(part.size(axis))));
      }
      return new Scale(factors);
    }

    @Override
    public String toString() {
      return "window " + windows;
    }
  }

  /**
   * Sets to zero what has a frequency above a cutoff.
   *
   * @param cutoff greatest absolute value of a frequency that is kept
   * @param axes frequencies along each axis that was transformed
   */
  record LowPass(double cutoff, Map<Integer, AxisFrequencies> axes)
      implements PositionDependentStep {
    /** Copies the map. */
    public LowPass {
      axes = Map.copyOf(axes);
    }

    @Override
    public BlockStep onPart(State before, Box part, Given given) {
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
      return new KeepUpTo(terms, cutoff * cutoff);
    }

    @Override
    public String toString() {
      return "low pass up to " + cutoff;
    }
  }
}
