package org.tilespark.kernels.host.fourier;

/**
 * Sums of a Fourier transform in twice the digits of a double: numbers are the sums of two doubles
 * (T. J. Dekker, "A floating-point technique for extending the available precision", 1971).
 */
final class ExactFourier {
  private static final double QUARTER_PI = 0.7853981633974483;
  private static final double QUARTER_PI_REST = 3.061616997868383e-17;

  private final int n;
  private final Pair[] cosines; // of k / n of a turn
  private final Pair[] sines;

  /** The sum of two doubles, of which the second is what the first cannot hold. */
  record Pair(double high, double low) {
    static Pair of(double high, double low) {
      double sum = high + low;
      double seen = sum - high;
      return new Pair(sum, (high - (sum - seen)) + (low - seen));
    }

    Pair plus(Pair other) {
      Pair sum = of(high, other.high);
      return of(sum.high, sum.low + low + other.low);
    }

    Pair times(double factor) {
      double product = high * factor;
      return of(product, Math.fma(high, factor, -product) + low * factor);
    }

    Pair times(Pair other) {
      double product = high * other.high;
      return of(
          product, Math.fma(high, other.high, -product) + high * other.low + low * other.high);
    }

    Pair over(double divisor) {
      double quotient = high / divisor;
      double rest = Math.fma(-quotient, divisor, high) + low;
      return of(quotient, rest / divisor);
    }

    double value() {
      return high + low;
    }
  }

  ExactFourier(int n) {
    this.n = n;
    cosines = new Pair[n];
    sines = new Pair[n];
    for (int k = 0; k < n; k++) {
      cosines[k] = cosine(8L * k);
      sines[k] = sine(8L * k);
    }
  }

  /** Cosine of {@code eighths / n} eighths of a turn. */
  private Pair cosine(long eighths) {
    long e = eighths > 4L * n ? 8L * n - eighths : eighths;
    if (e <= n) {
      return series(e, 0);
    } else if (e <= 3L * n) {
      Pair sine = series(Math.abs(2L * n - e), 1);
      return e <= 2L * n ? sine : sine.times(-1);
    }
    return series(4L * n - e, 0).times(-1);
  }

  private Pair sine(long eighths) {
    if (eighths > 4L * n) {
      return sine(8L * n - eighths).times(-1);
    } else if (eighths <= n) {
      return series(eighths, 1);
    } else if (eighths <= 3L * n) {
      return series(Math.abs(2L * n - eighths), 0);
    }
    return series(4L * n - eighths, 1);
  }

  /** The power series of the cosine, from power 0, or of the sine, from power 1. */
  private Pair series(long eighths, int first) {
    Pair angle = new Pair(QUARTER_PI, QUARTER_PI_REST).times((double) eighths).over(n);
    Pair square = angle.times(angle);
    Pair term = first == 0 ? new Pair(1, 0) : angle;
    Pair sum = term;
    for (int power = first + 2; power < 30; power += 2) {
      term = term.times(square).over(-(double) power * (power - 1));
      sum = sum.plus(term);
    }
    return sum;
  }

  double cos(int k) {
    return cosines[k].value();
  }

  double sin(int k) {
    return sines[k].value();
  }

  /** Real and imaginary part at frequency {@code k}; the parts of the line may be longer. */
  double[] at(int k, double[] re, double[] im, boolean inverse) {
    Pair sumRe = new Pair(0, 0);
    Pair sumIm = new Pair(0, 0);
    for (int j = 0; j < n; j++) {
      int turn = (int) ((long) j * k % n);
      Pair cos = cosines[turn];
      Pair sin = inverse ? sines[turn] : sines[turn].times(-1);
      sumRe = sumRe.plus(cos.times(re[j])).plus(sin.times(-im[j]));
      sumIm = sumIm.plus(sin.times(re[j])).plus(cos.times(im[j]));
    }
    return new double[] {sumRe.value(), sumIm.value()};
  }
}
