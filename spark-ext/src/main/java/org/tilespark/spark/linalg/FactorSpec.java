package org.tilespark.spark.linalg;

import java.io.Serializable;
import java.util.Objects;
import org.tilespark.layout.ElementType;

/**
 * The work of a {@link FactorBlock}.
 *
 * @param columns number of columns of A; a block [A | B] has more
 * @param largest number of largest eigenvalues or singular values to compute; -1 for all
 * @param tolerance ratio to the largest singular value up to which a singular value counts as zero;
 *     for {@link Factoring#COUNT_ABOVE} the bound itself
 * @param result type of the results: FLOAT32 or FLOAT64
 */
public record FactorSpec(
    Factoring made, int columns, int largest, double tolerance, ElementType result)
    implements Serializable {
  /** Checks the type of the results. */
  public FactorSpec {
    Objects.requireNonNull(made);
    if (result != ElementType.FLOAT32 && result != ElementType.FLOAT64) {
      throw new IllegalArgumentException("Factors of " + result + "; expected FLOAT32 or FLOAT64");
    }
  }

  /** The work for all eigenvalues or singular values, without a tolerance. */
  public static FactorSpec of(Factoring made, int columns, ElementType result) {
    return new FactorSpec(made, columns, -1, 0, result);
  }

  /** This work with a tolerance for singular values. */
  public FactorSpec withTolerance(double ratio) {
    return new FactorSpec(made, columns, largest, ratio, result);
  }

  /** This work for the {@code count} largest eigenvalues or singular values alone. */
  public FactorSpec withLargest(int count) {
    return new FactorSpec(made, columns, count, tolerance, result);
  }

  /** A short text of the work, for plans. */
  @Override
  public String toString() {
    return made
        + " of "
        + columns
        + " columns"
        + (largest < 0 ? "" : ", largest " + largest)
        + (tolerance > 0 ? ", tolerance " + tolerance : "")
        + " as "
        + result;
  }
}
