package org.tilespark.spark.block;

/** Arithmetic on byte counts that stops at 2^63 - 1 instead of wrapping; and their text. */
public final class Bytes {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

  private Bytes() {}

  /** The product of factors of 0 or more, 2^63 - 1 at most. */
  public static long product(long... factors) {
    long product = 1;
    for (long factor : factors) {
      if (factor == 0) {
        return 0;
      }
    }
    for (long factor : factors) {
      if (Math.multiplyHigh(product, factor) != 0 || product * factor < 0) {
        return Long.MAX_VALUE;
      }
      product *= factor;
    }
    return product;
  }

  /** The sum of terms of 0 or more, 2^63 - 1 at most. */
  public static long sum(long... terms) {
    long sum = 0;
    for (long term : terms) {
      sum += term;
      if (sum < 0) {
        return Long.MAX_VALUE;
      }
    }
    return sum;
  }

  /** A count of bytes in the largest unit that leaves 1 or more: {@code 1.5 GiB}. */
  public static String text(long bytes) {
    int unit = 0;
    double value = bytes;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return unit == 0
        ? bytes + " B"
        : String.format(java.util.Locale.ROOT, "%.1f %s", value, UNITS[unit]);
  }
}
