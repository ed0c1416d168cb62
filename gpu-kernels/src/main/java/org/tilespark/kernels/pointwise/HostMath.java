package org.tilespark.kernels.pointwise;

/** Functions of floating-point numbers that Java's {@code Math} lacks or defines otherwise. */
final class HostMath {
  private HostMath() {}

  /** The sign as -1, 0 or 1; NaN for NaN. The branches are seldom taken. */
  static double sign(double x) {
    return x == 0 ? 0 : Double.isNaN(x) ? x : Math.copySign(1, x);
  }

  /** {@code 1 / (1 + e^-x)}, without overflow for large positive or negative x. */
  static double sigmoid(double x) {
    double e = Math.exp(-Math.abs(x));
    return (x < 0 ? e : 1) / (1 + e);
  }

  /** The power by C's and numpy's rules, which give 1 where Java gives NaN. */
  static double pow(double x, double y) {
    return x == 1 || (x == -1 && Double.isInfinite(y)) ? 1 : Math.pow(x, y);
  }

  /** numpy's {@code floor_divide} for type double. */
  static double floorDivide(double x, double y) {
    double rest = x % y;
    double quotient = (x - rest) / y;
    if (y == 0) {
      return x / y;
    }
    if (rest != 0 && (y < 0) != (rest < 0)) {
      quotient -= 1;
    }
    if (quotient == 0) {
      return Math.copySign(0, x / y);
    }
    double floor = Math.floor(quotient);
    return quotient - floor > 0.5 ? floor + 1 : floor;
  }

  /** numpy's {@code floor_divide} of floats, each operation rounded to float. */
  static float floorDivide(float x, float y) {
    float rest = x % y;
    float quotient = (x - rest) / y;
    if (y == 0) {
      return x / y;
    }
    if (rest != 0 && (y < 0) != (rest < 0)) {
      quotient -= 1;
    }
    if (quotient == 0) {
      return Math.copySign(0, x / y);
    }
    float floor = (float) Math.floor(quotient);
    return quotient - floor > 0.5f ? floor + 1 : floor;
  }

  /** numpy's {@code remainder} for type double. */
  static double remainder(double x, double y) {
    double rest = x % y;
    if (y == 0) {
      return rest;
    }
    if (rest == 0) {
      return Math.copySign(0, y);
    }
    return (y < 0) != (rest < 0) ? rest + y : rest;
  }

  /** numpy's {@code remainder} of floats, each operation rounded to float. */
  static float remainder(float x, float y) {
    float rest = x % y;
    if (y == 0) {
      return rest;
    }
    if (rest == 0) {
      return Math.copySign(0, y);
    }
    return (y < 0) != (rest < 0) ? rest + y : rest;
  }
}
