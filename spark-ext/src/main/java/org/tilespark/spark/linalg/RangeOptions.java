package org.tilespark.spark.linalg;

/**
 * Options of the range finder of {@link RandomizedSvd}.
 *
 * @param steps power steps: each multiplies with the matrix and its transpose
 * @param oversampling random vectors beyond the count of singular values
 * @param seed seed of the random vectors
 */
public record RangeOptions(int steps, int oversampling, long seed) {
  /** Power steps where none are asked for. */
  public static final int STEPS = 4;

  /** Further vectors where none are asked for. */
  public static final int OVERSAMPLING = 10;

  /** Checks the counts. */
  public RangeOptions {
    if (steps < 0 || oversampling < 0) {
      throw new IllegalArgumentException(
          "powerSteps is %s, oversampling is %s; expected 0 or more"
              .formatted(steps, oversampling));
    }
  }

  /** The usual ones. */
  public static RangeOptions usual() {
    return new RangeOptions(STEPS, OVERSAMPLING, 0);
  }
}
