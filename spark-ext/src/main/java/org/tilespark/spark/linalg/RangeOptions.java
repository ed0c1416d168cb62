package org.tilespark.spark.linalg;

/**
 * Options of the range finder of {@link RandomizedSvd}.
 *
 * @param steps number of power steps, each of which multiplies with the matrix and its transpose
 * @param oversampling number of random vectors beyond the count of singular values
 * @param seed seed of the random vectors
 */
public record RangeOptions(int steps, int oversampling, long seed) {
  /** Number of power steps if the user states none. */
  public static final int STEPS = 4;

  /** Number of random vectors beyond the count of singular values if the user states none. */
  public static final int OVERSAMPLING = 10;

  /** Checks that the counts are in range. */
  public RangeOptions {
    if (steps < 0 || oversampling < 0) {
      throw new IllegalArgumentException(
          "powerSteps is %s, oversampling is %s; expected 0 or more"
              .formatted(steps, oversampling));
    }
  }

  /** The options if the user states none. */
  public static RangeOptions usual() {
    return new RangeOptions(STEPS, OVERSAMPLING, 0);
  }
}
