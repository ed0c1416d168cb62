package org.tilespark.kernels.factor;

import java.util.SplittableRandom;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Checks of factors that a device's library gave, by products with a random vector (R. Freivalds,
 * Probabilistic machines can use less running time, 1977). Each throws a {@link RefusedException}.
 * Stateless.
 */
public final class FactorChecks {
  /**
   * Factor of the allowed error: this times the longer side times epsilon, relative to the norm.
   * Tests allow LAPACK's factors the same error.
   */
  private static final double ALLOWED = 10;

  private static final double EPSILON = Math.ulp(1.0);
  private static final long SEED = 20_261_129;

  private FactorChecks() {}

  /**
   * Random numbers between -1 and 1, the same in each call, so that a matrix is always refused or
   * never.
   */
  public static double[] random(int count) {
    return new SplittableRandom(SEED).doubles(count, -1, 1).toArray();
  }

  /** The largest allowed error of the factors of a matrix (rows, cols) of this norm. */
  public static double allowed(int rows, int cols, double norm) {
    return ALLOWED * Math.max(rows, cols) * EPSILON * norm;
  }

  /** Checks that the difference of two vectors has at most the allowed length; refuses NaN, too. */
  public static void requireNear(String what, double[] expected, double[] found, double allowed) {
    double squares = 0;
    for (int i = 0; i < expected.length; i++) {
      double difference = expected[i] - found[i];
      squares += difference * difference;
    }
    double error = Math.sqrt(squares);
    if (!(error <= allowed)) {
      throw new RefusedException(
          "cuSOLVER's %s err by %.3g; expected up to %.3g".formatted(what, error, allowed));
    }
  }

  /** Checks that the singular values or eigenvalues have the sum of squares that the matrix has. */
  public static void requireNorm(String what, HostMemory values, double norm, int longest) {
    double squares = 0;
    for (long i = 0; i < values.bytes() / Double.BYTES; i++) {
      double value = FactorSizes.get(values, i);
      squares += value * value;
    }
    double[] expected = {norm};
    double[] found = {Math.sqrt(squares)};
    requireNear(what, expected, found, allowed(longest, longest, norm));
  }

  /** Checks that no value is NaN or infinite. */
  public static void requireFinite(String what, double[] values) {
    for (double value : values) {
      if (!Double.isFinite(value)) {
        throw new RefusedException(
            "cuSOLVER's %s have elements that are not finite".formatted(what));
      }
    }
  }

  /**
   * The norm of a matrix; refuses the matrix if cuSOLVER might not do elements of its size exactly.
   */
  public static double moderate(Magnitudes sizes) {
    if (!sizes.areModerate()) {
      throw new RefusedException(
          "The matrix has columns whose largest element is above 2^400 or below 2^-400, which"
              + " cuSOLVER might not do exactly");
    }
    return sizes.norm();
  }

  /** The product of an upper triangular or trapezoidal R (rows, cols) and a vector. */
  public static double[] upperTimes(int rows, int cols, HostMemory r, double[] x) {
    double[] product = new double[rows];
    for (int i = 0; i < rows; i++) {
      for (int j = i; j < cols; j++) {
        product[i] += FactorSizes.get(r, (long) i * cols + j) * x[j];
      }
    }
    return product;
  }
}
