package org.tilespark.spark.linalg;

import java.util.List;

/** Factorises matrices on the heap. Stateless. */
final class DenseFactors {
  private DenseFactors() {}

  /**
   * The factors of a matrix, which is overwritten.
   *
   * @param operator operator's name, for messages
   * @throws IllegalArgumentException if the matrix cannot be factorised so
   */
  static List<Factor> of(FactorSpec spec, Dense a, String operator) {
    if (spec.made() == Factoring.CHOLESKY) {
      return List.of(new Factor("l", cholesky(a, operator)));
    }
    throw new UnsupportedOperationException(operator + ": " + spec.made() + " is to come");
  }

  static Dense solved(Factoring made, Dense factor, Dense b) {
    throw new UnsupportedOperationException(made + " is to come");
  }

  private static Dense cholesky(Dense a, String operator) {
    int n = a.rows();
    Dense l = Dense.zeros(n, n);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j <= i; j++) {
        double sum = a.at(i, j);
        for (int k = 0; k < j; k++) {
          sum -= l.at(i, k) * l.at(j, k);
        }
        if (i == j && !(sum > 0)) {
          throw new IllegalArgumentException(
              "The matrix is not positive definite: its leading minor of order %s is not positive (in %s)"
                  .formatted(i + 1, operator));
        }
        l.values()[i * n + j] = i == j ? Math.sqrt(sum) : sum / l.at(j, j);
      }
    }
    return l;
  }
}
