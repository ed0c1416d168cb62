package org.tilespark.spark.fourier;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.tilespark.arrow.blocks.ArrayStep;
import org.tilespark.arrow.blocks.BlockProgram.State;
import org.tilespark.arrow.blocks.BlockStep;
import org.tilespark.arrow.blocks.ElementwiseBlock;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.kernels.pointwise.FilterPrograms;
import org.tilespark.kernels.pointwise.FilterPrograms.Taken;
import org.tilespark.layout.Box;
import org.tilespark.spark.options.Window;

/**
 * An elementwise step whose program also reads vectors, each along one axis, that depend on where
 * the processed part is in the whole array.
 */
sealed interface PositionDependentStep extends ArrayStep {
  /** The program that computes each element. */
  ElementwiseProgram program(Taken taken);

  /** The vectors of {@link #program} for a part of the whole array. */
  List<double[]> vectors(State before, Box part, Given given);

  @Override
  default State after(State before) {
    return before;
  }

  @Override
  default boolean isBatched() {
    return false;
  }

  @Override
  default BlockStep onPart(State before, Box part, Given given) {
    Taken taken = new Taken(part.rank(), before.type(), before.isComplex());
    return ElementwiseBlock.of(program(taken), vectors(before, part, given));
  }

  /**
   * Subtracts a mean or a linear trend from every element: {@code a + b i + c j + d k} at the
   * element (i, j, k) of the whole array. The numbers a, b, c, d of the real parts, then those of
   * the imaginary parts, come with the blocks.
   */
  record Detrend() implements PositionDependentStep {
    @Override
    public ElementwiseProgram program(Taken taken) {
      return FilterPrograms.trend(taken);
    }

    @Override
    public List<double[]> vectors(State before, Box part, Given given) {
      List<double[]> vectors = new ArrayList<>();
      // Count of numbers for the real parts, and for the imaginary parts.
      int numbers = 1 + part.rank();
      for (int first = 0; first < before.planes() * numbers; first += numbers) {
        for (int axis = 0; axis < part.rank(); axis++) {
          double[] vector = new double[Math.toIntExact(part.size(axis))];
          double slope = given.trend()[first + 1 + axis];
          double constant = axis == 0 ? given.trend()[first] : 0;
          long low = part.low(axis);
          Arrays.setAll(vector, i -> constant + slope * (low + i));
          vectors.add(vector);
        }
      }
      return vectors;
    }

    @Override
    public String toString() {
      return "detrend";
    }
  }

  /** Multiplies elements by a window along each axis. */
  record Taper(List<Window> windows) implements PositionDependentStep {
    /** Copies the list. */
    public Taper {
      windows = List.copyOf(windows);
    }

    @Override
    public ElementwiseProgram program(Taken taken) {
      return FilterPrograms.window(taken);
    }

    @Override
    public List<double[]> vectors(State before, Box part, Given given) {
      List<double[]> factors = new ArrayList<>();
      for (int axis = 0; axis < part.rank(); axis++) {
        factors.add(
            windows
                .get(axis)
                .factors(
                    before.shape().extent(axis), part.low(axis), Math.toIntExact(part.size(axis))));
      }
      return factors;
    }

    @Override
    public String toString() {
      return "window " + windows;
    }
  }

  /**
   * Sets elements to zero whose frequency is outside a band.
   *
   * @param low least absolute value of a frequency whose element is kept
   * @param high greatest absolute value of a frequency whose element is kept
   * @param axes frequencies along each axis that was transformed
   */
  record BandPass(double low, double high, Map<Integer, AxisFrequencies> axes)
      implements PositionDependentStep {
    /** Copies the map. */
    public BandPass {
      axes = Map.copyOf(axes);
    }

    @Override
    public ElementwiseProgram program(Taken taken) {
      return FilterPrograms.bandPass(taken, low * low, high * high);
    }

    @Override
    public List<double[]> vectors(State before, Box part, Given given) {
      List<double[]> terms = new ArrayList<>();
      for (int axis = 0; axis < part.rank(); axis++) {
        double[] squares = new double[Math.toIntExact(part.size(axis))];
        AxisFrequencies frequencies = axes.get(axis);
        if (frequencies != null) {
          long first = part.low(axis);
          Arrays.setAll(squares, i -> Math.pow(frequencies.at(first + i), 2));
        }
        terms.add(squares);
      }
      return terms;
    }

    @Override
    public String toString() {
      return low == 0 ? "low pass up to " + high : "band pass from " + low + " to " + high;
    }
  }
}
