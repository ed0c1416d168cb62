package org.tilespark.spark.linalg;

import java.util.List;

/** The factorisations of a matrix A that is one block, and the names of their results. */
public enum Factoring {
  /** The lower triangle L of A = L L^T; reads the lower triangle of A. */
  CHOLESKY(true, "l"),
  /** Eigenvalues, ascending, and eigenvectors in columns; reads the lower triangle of A. */
  EIGH(true, "values", "vectors"),
  /** The eigenvalues alone of {@link #EIGH}. */
  EIGVALSH(true, "values"),
  /** The thin factors of A = U diag(s) V^T, singular values descending. */
  SVD(false, "u", "s", "vt"),
  /** The singular values alone of {@link #SVD}. */
  SVDVALS(false, "s"),
  /**
   * As {@link #SVD}, but with the largest singular values only, and with [U | A] in place of U, for
   * {@link TallQr}.
   */
  STACK_SVD(false, "u", "s", "vt"),
  /** The thin factors of A = Q R. */
  QR(false, "q", "r"),
  /** The factors of {@link #QR}, with the matrix [Q | A] in place of Q. */
  STACK_QR(false, "q", "r"),
  /** The factor R alone of {@link #QR}. */
  QR_R(false, "r"),
  /** The solution X of A X = B by LU; the block is [A | B]. */
  SOLVE(false, "x"),
  /**
   * The solution X of A X = B by Cholesky; the block is [A | B], and only A's lower triangle is
   * read.
   */
  SOLVE_POSITIVE(false, "x"),
  /** The least-squares solution of least norm of A X = B; the block is [A | B]. */
  LSTSQ(false, "x", "residuals", "rank", "s"),
  /** The Moore-Penrose inverse of A. */
  PINV(false, "pinv"),
  /** The transpose P of the Moore-Penrose inverse of A, as the matrix [P | A]. */
  STACK_PINV(false, "pinv"),
  /** The sign of A's determinant, and the logarithm of its absolute value, as a row of two. */
  SLOGDET(false, "slogdet"),
  /**
   * The count of singular values, given as a column, whose ratio to the largest is above the
   * tolerance.
   */
  RANK(false, "rank"),
  /** The count of singular values, given as a column, that are above the tolerance. */
  COUNT_ABOVE(false, "rank"),
  /** The factors of LU in one matrix, and a row of pivots, for {@link StripSolve}. */
  LU(false, "factor"),
  /** The lower triangle of the Cholesky factorisation, for {@link StripSolve}. */
  LOWER(true, "factor");

  private final boolean isLower;
  private final List<String> factors;

  Factoring(boolean isLower, String... factors) {
    this.isLower = isLower;
    this.factors = List.of(factors);
  }

  /** True if elements of A above the diagonal are not read. */
  boolean readsLower() {
    return isLower;
  }

  /** The names of the results, in their order. */
  public List<String> factors() {
    return factors;
  }
}
