package org.tilespark.kernels.host.fourier;

/**
 * Roots of unity, each correct to about the last bit: integer arithmetic reduces the angle to an
 * eighth of a turn, where cosine and sine are accurate.
 */
final class Roots {
  private Roots() {}

  /** Cosine of {@code k / n} of a turn, k from 0 to n. */
  static double cos(long k, long n) {
    long eighths = 8 * Math.min(k, n - k); // the angle in eighths of a turn, times n: 0 to 4 n
    if (eighths <= n) {
      return Math.cos(angle(eighths, n));
    } else if (eighths <= 3 * n) {
      return Math.sin(angle(2 * n - eighths, n));
    }
    return -Math.cos(angle(4 * n - eighths, n));
  }

  /** Sine of {@code k / n} of a turn, k from 0 to n. */
  static double sin(long k, long n) {
    if (2 * k > n) {
      return -sin(n - k, n);
    }
    long eighths = 8 * k;
    if (eighths <= n) {
      return Math.sin(angle(eighths, n));
    } else if (eighths <= 3 * n) {
      return Math.cos(angle(2 * n - eighths, n));
    }
    return Math.sin(angle(4 * n - eighths, n));
  }

  private static double angle(long eighths, long n) {
    return Math.PI / 4 * eighths / n;
  }
}
