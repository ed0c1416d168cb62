package org.tilespark.kernels.pointwise;

/**
 * Random numbers that depend on a seed and a place alone: the same bits on host and device, and
 * however an array is cut. Host's half; {@code elementwise_functions.cu} is the device's.
 *
 * <p>The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", 2014), with a step for each coordinate.
 */
public final class RandomNumbers {
  /** The increment of SplitMix64 for each step: 2^64 divided by the golden ratio, made odd. */
  public static final long STEP = 0x9E3779B97F4A7C15L;

  /** The least number that {@link #quantile} takes here, since that of 0 is infinite. */
  public static final double LEAST = 0x1p-54;

  /**
   * Coefficients of each quotient of polynomials, from that of x^7 down: numerator, denominator.
   */
  private static final double[][] CENTER = {
    {
      2509.0809287301226727,
      33430.575583588128105,
      67265.770927008700853,
      45921.953931549871457,
      13731.693765509461125,
      1971.5909503065514427,
      133.14166789178437745,
      3.387132872796366608
    },
    {
      5226.495278852854561,
      28729.085735721942674,
      39307.89580009271061,
      21213.794301586595867,
      5394.1960214247511077,
      687.1870074920579083,
      42.313330701600911252,
      1
    }
  };

  private static final double[][] TAIL = {
    {
      7.7454501427834140764e-4,
      .0227238449892691845833,
      .24178072517745061177,
      1.27045825245236838258,
      3.64784832476320460504,
      5.7694972214606914055,
      4.6303378461565452959,
      1.42343711074968357734
    },
    {
      1.05075007164441684324e-9,
      5.475938084995344946e-4,
      .0151986665636164571966,
      .14810397642748007459,
      .68976733498510000455,
      1.6763848301838038494,
      2.05319162663775882187,
      1
    }
  };

  private static final double[][] FAR_TAIL = {
    {
      2.01033439929228813265e-7,
      2.71155556874348757815e-5,
      .0012426609473880784386,
      .026532189526576123093,
      .29656057182850489123,
      1.7848265399172913358,
      5.4637849111641143699,
      6.6579046435011037772
    },
    {
      2.04426310338993978564e-15,
      1.4215117583164458887e-7,
      1.8463183175100546818e-5,
      7.868691311456132591e-4,
      .0148753612908506148525,
      .13692988092273580531,
      .59983220655588793769,
      1
    }
  };

  private static final int LOG_TERMS = 12;
  private static final long FRACTION = 0xFFFFFFFFFFFFFL;
  private static final long ONE = 0x3FF0000000000000L; // the bits of 1.0

  private RandomNumbers() {}

  /** Mixes the bits of a number; a bijection (the finalizer of SplitMix64). */
  public static long mix(long x) {
    long z = (x ^ (x >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** The random bits of a place. */
  public static long bits(long seed, long... place) {
    long bits = mix(seed);
    for (long coordinate : place) {
      bits = mix(bits + (coordinate + 1) * STEP);
    }
    return bits;
  }

  /** A number in [0, 1) of 53 of the bits. */
  public static double uniform(long bits) {
    return (bits >>> 11) * 0x1p-53;
  }

  /** A number of the standard normal distribution. */
  public static double normal(long bits) {
    return quantile(Math.max(uniform(bits), LEAST));
  }

  /**
   * The quantile of the standard normal distribution: a normal number is less with the probability
   * {@code p}; NaN unless {@code 0 <= p <= 1}. The relative error is about 1e-16.
   *
   * <p>Source: M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution",
   * Applied Statistics 37 (1988), PPND16. Each operation is rounded once, here and on the device.
   */
  static double quantile(double p) {
    double q = p - 0.5;
    if (Math.abs(q) <= 0.425) {
      return q * quotient(CENTER, 0.180625 - q * q);
    }
    double share = q < 0 ? p : 1 - p;
    if (!(share > 0)) {
      return share == 0 ? Math.copySign(Double.POSITIVE_INFINITY, q) : Double.NaN;
    }
    double r = Math.sqrt(-log(share));
    double size = r <= 5 ? quotient(TAIL, r - 1.6) : quotient(FAR_TAIL, r - 5);
    return q < 0 ? -size : size;
  }

  private static double quotient(double[][] coefficients, double x) {
    return polynomial(coefficients[0], x) / polynomial(coefficients[1], x);
  }

  private static double polynomial(double[] coefficients, double x) {
    double sum = coefficients[0];
    for (int i = 1; i < coefficients.length; i++) {
      sum = sum * x + coefficients[i];
    }
    return sum;
  }

  /**
   * The natural logarithm of a normal positive number, by the series of the inverse hyperbolic
   * tangent. Its bits are the same on each machine.
   */
  private static double log(double x) {
    long bits = Double.doubleToRawLongBits(x);
    int exponent = (int) (bits >> 52) - 1023;
    double fraction = Double.longBitsToDouble((bits & FRACTION) | ONE); // in [1, 2)
    if (fraction > 1.4142135623730951) {
      fraction *= 0.5;
      exponent++;
    }
    double s = (fraction - 1) / (fraction + 1);
    double square = s * s;
    double sum = 0;
    for (int k = LOG_TERMS; k >= 0; k--) {
      sum = sum * square + 1.0 / (2 * k + 1);
    }
    return exponent * 0.6931471805599453 + 2 * s * sum;
  }
}
