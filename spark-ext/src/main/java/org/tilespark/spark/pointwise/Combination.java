package org.tilespark.spark.pointwise;

/**
 * What is computed of two elements at one place. Numbers are (real, imaginary) pairs; a plane that
 * an operand does not have is zero.
 */
public enum Combination {
  /** Sums, in the type of the values. */
  ADD("+") {
    @Override
    void floats(float[][] a, float[][] b, float[][] result, int count) {
      for (int plane = 0; plane < result.length; plane++) {
        for (int i = 0; i < count; i++) {
          result[plane][i] = a[plane][i] + b[plane][i];
        }
      }
    }

    @Override
    void doubles(double[][] a, double[][] b, double[][] result, int count) {
      for (int plane = 0; plane < result.length; plane++) {
        for (int i = 0; i < count; i++) {
          result[plane][i] = a[plane][i] + b[plane][i];
        }
      }
    }
  },

  /** Products, computed in double and rounded once. */
  MULTIPLY("x") {
    @Override
    void floats(float[][] a, float[][] b, float[][] result, int count) {
      for (int i = 0; i < count; i++) {
        double re = a[0][i];
        double otherRe = b[0][i];
        if (result.length == 1) {
          result[0][i] = (float) (re * otherRe);
        } else {
          double im = a[1][i];
          double otherIm = b[1][i];
          result[0][i] = (float) (re * otherRe - im * otherIm);
          result[1][i] = (float) (re * otherIm + im * otherRe);
        }
      }
    }

    @Override
    void doubles(double[][] a, double[][] b, double[][] result, int count) {
      for (int i = 0; i < count; i++) {
        double re = a[0][i];
        double otherRe = b[0][i];
        if (result.length == 1) {
          result[0][i] = re * otherRe;
        } else {
          double im = a[1][i];
          double otherIm = b[1][i];
          result[0][i] = re * otherRe - im * otherIm;
          result[1][i] = re * otherIm + im * otherRe;
        }
      }
    }
  };

  private final String sign;

  Combination(String sign) {
    this.sign = sign;
  }

  /**
   * Combines the first {@code count} elements.
   *
   * @param a (planes of the result, elements)
   * @param b the second operand's, as {@code a}
   * @param result as many planes
   */
  abstract void floats(float[][] a, float[][] b, float[][] result, int count);

  /** As {@link #floats}. */
  abstract void doubles(double[][] a, double[][] b, double[][] result, int count);

  @Override
  public String toString() {
    return sign;
  }
}
