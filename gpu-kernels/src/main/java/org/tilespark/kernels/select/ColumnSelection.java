package org.tilespark.kernels.select;

import org.tilespark.layout.ElementType;

/**
 * A search in each row of a tile whose elements estimate other numbers, with bounds of their
 * errors:
 *
 * <pre>
 *   estimate(i, j) = tile(i, j) scale(j) + shift(j)
 *   error(i, j)    = norm(i) perNorm(j) + errors(j) + errors(i)    infinite beyond the largest norms
 * </pre>
 *
 * A column is left out of a row's selection only if its number certainly is not sought: if estimate
 * plus error is below the row's {@code least}, or if at least {@code wanted} other columns
 * certainly have a larger number. A column with an estimate of NaN is always selected.
 * Implementations may select further columns. Arrays are borrowed.
 *
 * @param type type of the tile's elements, FLOAT32 or FLOAT64
 * @param wanted number of largest numbers sought in each row; 0 if all are sought
 * @param largest beyond this product of a row's and a column's norm the error is infinite
 */
public record ColumnSelection(
    ElementType type, Rows rows, Columns columns, int wanted, double largest) {
  /** Checks that {@code wanted} is 0 or more. */
  public ColumnSelection {
    if (wanted < 0) {
      throw new IllegalArgumentException(wanted + " columns are wanted; expected 0 or more");
    }
  }

  /**
   * The rows of a tile.
   *
   * @param norms norm of each row; NaN if all columns of the row must be selected
   * @param errors error that each row adds
   * @param least lower bound of each row: numbers below it are not sought
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Rows(int count, double[] norms, double[] errors, double[] least) {}

  /**
   * The columns of a tile; each array holds at least {@code count} numbers.
   *
   * @param scale scale of each column; NaN if the column must always be selected
   * @param most largest of {@code norms}, {@code perNorm} and {@code errors}, over the columns
   *     whose scale is a number
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  public record Columns(
      int count,
      double[] scale,
      double[] shift,
      double[] perNorm,
      double[] errors,
      double[] norms,
      Most most) {}

  /** The largest values over some columns of a tile. */
  public record Most(double norm, double perNorm, double error) {}

  /** The error of the estimate at one element of the tile. */
  public double error(int row, int col) {
    double norm = rows.norms[row];
    return norm * columns.norms[col] <= largest
        ? norm * columns.perNorm[col] + columns.errors[col] + rows.errors[row]
        : Double.POSITIVE_INFINITY;
  }

  /** An upper bound of the errors of a row's estimates, over the columns whose scale is not NaN. */
  public double widest(int row) {
    double norm = rows.norms[row];
    Most most = columns.most;
    return norm * most.norm <= largest
        ? norm * most.perNorm + most.error + rows.errors[row]
        : Double.POSITIVE_INFINITY;
  }
}
