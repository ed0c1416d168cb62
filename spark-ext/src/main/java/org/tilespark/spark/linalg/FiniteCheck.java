package org.tilespark.spark.linalg;

import org.tilespark.spark.rows.BlockArguments.Block;

/** Finds NaN and infinity before LAPACK, which may not terminate with them. Stateless. */
final class FiniteCheck {
  private FiniteCheck() {}

  /**
   * Checks the elements that the factorisation reads.
   *
   * @throws IllegalArgumentException that names the block, and the element by its place in the
   *     whole matrix, if one is NaN or infinite
   */
  static void check(Block block, Dense matrix, FactorSpec spec, String operator) {
    int columns = spec.columns();
    boolean isLower = spec.made().readsLower() || spec.made() == Factoring.SOLVE_POSITIVE;
    for (int row = 0; row < matrix.rows(); row++) {
      int read = isLower ? Math.min(row + 1, columns) : matrix.cols();
      check(block, matrix, row, 0, read, columns, operator);
      check(block, matrix, row, columns, matrix.cols(), columns, operator);
    }
  }

  private static void check(
      Block block, Dense matrix, int row, int from, int to, int columns, String operator) {
    for (int col = from; col < to; col++) {
      double value = matrix.at(row, col);
      if (!Double.isFinite(value)) {
        boolean isB = col >= columns;
        throw new IllegalArgumentException(
            "%s: the element at row %s, col %s%s is %s; expected finite numbers (in %s)"
                .formatted(
                    block.describe(),
                    block.offset().get(0) + row,
                    block.offset().get(1) + col - (isB ? columns : 0),
                    columns == matrix.cols() ? "" : isB ? " of b" : " of a",
                    value,
                    operator));
      }
    }
  }
}
