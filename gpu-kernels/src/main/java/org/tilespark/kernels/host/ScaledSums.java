package org.tilespark.kernels.host;

import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/**
 * Computes elements of C from sums and their rounding errors; FLOAT and DOUBLE are rounded
 * differently.
 */
final class ScaledSums {
  private ScaledSums() {}

  /** Does what {@link PackedPanels#scale} says, for floats; the sums must be finite. */
  static void scale(FloatPanels panels, int at, Factors factors) {
    float[] result = panels.result;
    float[] before = panels.before;
    if (factors.equals(Factors.OVERWRITE)) {
      panels.addErrors(at);
    } else if (factors.equals(Factors.ADD)) {
      for (int e = 0; e < result.length; e++) {
        result[e] = (float) (sum(panels, at + e) + before[e]);
      }
    } else {
      for (int e = 0; e < result.length; e++) {
        result[e] = scaled(sum(panels, at + e), factors, before[e]);
      }
    }
  }

  /**
   * One element of C for FLOAT: alpha times the sum is rounded to double; this plus beta times C is
   * rounded to float.
   */
  static float scaled(double sum, Factors factors, float before) {
    double product = factors.alpha() * sum;
    double beta = factors.beta();
    return (float) (beta == 0 ? product : product + beta * before);
  }

  /** Does what {@link PackedPanels#scale} says, for doubles. */
  static void scale(DoublePanels panels, int at, Factors factors) {
    double[] result = panels.result;
    if (!panels.addErrors(at)) {
      for (int e = 0; e < result.length; e++) {
        result[e] = sum(panels, at + e);
      }
    }
    if (factors.equals(Factors.OVERWRITE)) {
      return;
    }
    double alpha = factors.alpha();
    double beta = factors.beta();
    for (int e = 0; e < result.length; e++) {
      double product = alpha * result[e];
      result[e] = beta == 0 ? product : Math.fma(beta, panels.before[e], product);
    }
  }

  /** One element's sum, plus its error, for FLOAT; the sum must be finite. */
  static double sum(FloatPanels panels, int at) {
    return (double) panels.group[at] + panels.part[at];
  }

  /**
   * One element's sum, plus its error, for DOUBLE. The error of an infinite sum is ignored, since
   * it was computed as NaN.
   */
  static double sum(DoublePanels panels, int at) {
    double sum = panels.group[at];
    double error = panels.part[at];
    return Double.isFinite(error) ? sum + error : sum;
  }
}
