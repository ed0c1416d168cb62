package org.tilespark.kernels.factor;

import org.tilespark.kernels.memory.HostMemory;

/**
 * How large the elements of a matrix are.
 *
 * @param norm square root of the sum of all elements' squares, meaningless unless {@code
 *     areModerate}
 * @param areModerate true if all elements are finite and the largest absolute value of each column
 *     is zero or between 2^-400 and 2^400. Then sums of products of two elements do not overflow,
 *     and do not underflow relative to the square of their column's length
 */
public record Magnitudes(double norm, boolean areModerate) {
  private static final double SMALL = 0x1p-400;
  private static final double LARGE = 0x1p400;

  /** The magnitudes of a matrix of (rows, cols). */
  public static Magnitudes of(int rows, int cols, HostMemory a) {
    double[] largest = new double[cols];
    double squares = 0;
    for (int i = 0; i < rows; i++) {
      long first = (long) i * cols;
      double sum = 0;
      for (int j = 0; j < cols; j++) {
        double value = FactorSizes.get(a, first + j);
        sum += value * value;
        largest[j] = Math.max(largest[j], Math.abs(value));
      }
      squares += sum;
    }
    return new Magnitudes(Math.sqrt(squares), areModerate(largest));
  }

  /**
   * The magnitudes of a symmetric matrix (n, n), of which the lower triangle with the diagonal is
   * read.
   */
  public static Magnitudes ofSymmetric(int n, HostMemory a) {
    double[] largest = new double[n];
    double squares = 0;
    for (int i = 0; i < n; i++) {
      long first = (long) i * n;
      double sum = 0;
      for (int j = 0; j < i; j++) {
        double value = FactorSizes.get(a, first + j);
        sum += value * value;
        double size = Math.abs(value);
        largest[i] = Math.max(largest[i], size);
        largest[j] = Math.max(largest[j], size);
      }
      double diagonal = FactorSizes.get(a, first + i);
      largest[i] = Math.max(largest[i], Math.abs(diagonal));
      squares += 2 * sum + diagonal * diagonal;
    }
    return new Magnitudes(Math.sqrt(squares), areModerate(largest));
  }

  private static boolean areModerate(double[] largest) {
    for (double each : largest) { // NaN is refused, too
      if (each != 0 && !(each >= SMALL && each <= LARGE)) {
        return false;
      }
    }
    return true;
  }
}
