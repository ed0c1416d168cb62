package org.tilespark.spark.linalg;

import java.io.Serializable;
import java.util.List;
import org.tilespark.layout.ElementType;

/**
 * Specifies the results of a {@link PrincipalBlock}.
 *
 * @param rows number of rows of the matrix whose components are computed
 * @param k number of components
 * @param result type of the results: FLOAT32 or FLOAT64
 */
public record PrincipalSpec(Of of, long rows, int k, ElementType result) implements Serializable {
  static final String COMPONENTS = "components";
  static final String SINGULAR_VALUES = "singular_values";
  static final String VARIANCE = "explained_variance";
  static final String RATIO = "explained_variance_ratio";
  static final String MEAN = "mean";
  static final String SCORES = "scores";

  /** The content of the block from which components are computed. */
  public enum Of {
    /** The factor R of [1 | A], the matrix with a column of ones before it. */
    TRIANGLE(COMPONENTS, SINGULAR_VALUES, VARIANCE, RATIO, MEAN),
    /** The products of the centred columns with each other. */
    COLUMNS(COMPONENTS, SINGULAR_VALUES, VARIANCE, RATIO),
    /** The products of the centred rows with each other; scores have length 1 and are columns. */
    ROWS(SCORES, SINGULAR_VALUES, VARIANCE, RATIO),
    /** Components in the block's rows, which do not have length 1 yet. */
    COMPONENTS_ONLY(COMPONENTS);

    private final List<String> factors;

    Of(String... factors) {
      this.factors = List.of(factors);
    }

    /** The names of the results, in their order. */
    List<String> factors() {
      return factors;
    }
  }

  /** A short text of the results, for plans. */
  @Override
  public String toString() {
    return k + " of " + of + " of " + rows + " rows as " + result;
  }
}
