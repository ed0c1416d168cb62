package org.tilespark.spark.options;

/** Lengths that transform fast: products of 2, 3, 5 and 7, which cuFFT has kernels for. */
public final class FastLength {
  private FastLength() {}

  /**
   * The least fast length of {@code extent} or more.
   *
   * @param extent 1 or more
   * @throws IllegalArgumentException if {@code extent} is less than 1, or no fast length is below
   *     2^63
   */
  public static long next(long extent) {
    if (extent < 1) {
      throw new IllegalArgumentException("Length " + extent + "; expected 1 or more");
    }
    long best = Long.MAX_VALUE;
    for (long seven = 1; seven < best; seven = times(seven, 7)) {
      for (long five = seven; five < best; five = times(five, 5)) {
        for (long three = five; three < best; three = times(three, 3)) {
          long two = three;
          while (two < extent) {
            two = times(two, 2);
          }
          best = Math.min(best, two);
        }
      }
    }
    if (best == Long.MAX_VALUE) {
      throw new IllegalArgumentException("No fast length of " + extent + " or more");
    }
    return best;
  }

  private static long times(long length, long factor) {
    return length > Long.MAX_VALUE / factor ? Long.MAX_VALUE : length * factor;
  }
}
