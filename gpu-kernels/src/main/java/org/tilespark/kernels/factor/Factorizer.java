package org.tilespark.kernels.factor;

import org.tilespark.kernels.memory.HostMemory;
import sun.misc.Unsafe;

/**
 * Factorises one dense matrix of type double in host memory by LAPACK's methods; plain Java,
 * OpenBLAS and cuSOLVER implement it.
 *
 * <p>Matrices are row-major without gaps: element {@code (i, j)} of a matrix of {@code (rows,
 * cols)} is double {@code i * cols + j}. A range may be on the heap or off it; it is borrowed for
 * the call, and must not overlap another of the same call. Operands named {@code a} are not
 * changed; results are written as a whole. A matrix may have no rows or no columns; then its
 * factors have none either. Elements must be finite: the caller checks that.
 *
 * <p>Errors are of the order of {@code n * eps} relative to the norm of the matrix, with {@code n}
 * its longer side. Signs of vectors, and bases of equal singular values or eigenvalues, may differ
 * between implementations.
 *
 * <p>All methods throw an {@link IllegalArgumentException} if a range has another length than its
 * extents need. Implementations are safe for use by several threads at once, and a call computes on
 * the calling thread alone.
 */
public interface Factorizer extends AutoCloseable {
  /**
   * QR without Q: the R of {@code A = Q R}, with the bits that {@link #qr} gives. The signs of R's
   * rows are those of Householder's reflections.
   *
   * @param a A (rows, cols)
   * @param r gets R (min(rows, cols), cols), upper triangular, with zeros below the diagonal
   */
  void qrR(int rows, int cols, HostMemory a, HostMemory r);

  /**
   * Thin QR: {@code A = Q R} with orthonormal columns of Q, also where A has linearly dependent
   * columns.
   *
   * @param a A (rows, cols)
   * @param q gets Q (rows, min(rows, cols))
   * @param r gets R (min(rows, cols), cols), upper triangular, with zeros below the diagonal
   */
  void qr(int rows, int cols, HostMemory a, HostMemory q, HostMemory r);

  /**
   * Singular values in descending order.
   *
   * @param a A (rows, cols)
   * @param s gets the min(rows, cols) singular values
   * @throws NoConvergenceException if the iteration does not end
   */
  void svdvals(int rows, int cols, HostMemory a, HostMemory s);

  /**
   * Thin singular value decomposition: {@code A = U diag(s) Vt}.
   *
   * @param a A (rows, cols)
   * @param u gets U (rows, min(rows, cols)), with orthonormal columns
   * @param s gets the min(rows, cols) singular values, in descending order
   * @param vt gets Vt (min(rows, cols), cols), with orthonormal rows
   * @throws NoConvergenceException if the iteration does not end
   */
  void svd(int rows, int cols, HostMemory a, HostMemory u, HostMemory s, HostMemory vt);

  /**
   * Eigenvalues of a symmetric matrix in ascending order.
   *
   * @param a A (n, n), of which the lower triangle with the diagonal is read
   * @param values gets the n eigenvalues
   * @throws NoConvergenceException if the iteration does not end
   */
  void eigvalsh(int n, HostMemory a, HostMemory values);

  /**
   * The {@code k} largest eigenvalues of a symmetric matrix in ascending order, and their vectors.
   * If {@code k} is {@code n}, these are all eigenvalues.
   *
   * @param k how many eigenvalues, from 0 to n
   * @param a A (n, n), of which the lower triangle with the diagonal is read
   * @param values gets the k eigenvalues
   * @param vectors gets (n, k): column j is the vector of value j, of length 1 and orthogonal to
   *     the others
   * @throws IllegalArgumentException also if {@code k} is not from 0 to {@code n}
   * @throws NoConvergenceException if the iteration does not end
   */
  void eigh(int n, int k, HostMemory a, HostMemory values, HostMemory vectors);

  /**
   * Cholesky's factor in place: {@code A = L L^T}.
   *
   * @param a A (n, n), of which the lower triangle with the diagonal is read; gets L, with zeros
   *     above the diagonal. Undefined after an exception
   * @throws NotPositiveDefiniteException if A is not positive definite
   */
  void cholesky(int n, HostMemory a);

  /**
   * LU in place with exchanged columns: {@code A = L U P}, with L lower triangular and U upper
   * triangular with ones on its diagonal. A singular matrix has factors, too: an element of L's
   * diagonal is then zero, or nearly zero.
   *
   * @param a A (n, n); gets L with its diagonal, and U above it. {@link #solveLu} and {@link
   *     #slogdet} take it, whichever implementation made it
   * @param pivots gets n numbers of columns, counted from 1 as in LAPACK: column i was exchanged
   *     with column {@code pivots[i] - 1}, for i = 0, 1, ...
   * @throws IllegalArgumentException also if {@code pivots} has not n elements
   */
  void lu(int n, HostMemory a, int[] pivots);

  /**
   * Solves a triangular system {@code T X = B} in place.
   *
   * @param triangle the triangle of {@code t} that is read, and whether its transpose is used
   * @param t T (n, n)
   * @param b B (n, rightSides); gets X
   * @throws SingularMatrixException if an element of the diagonal is zero; then B is as it was
   */
  void solveTriangular(Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b);

  /**
   * Solves {@code A X = B} in place with A's factors.
   *
   * @param lu A's factors (n, n) by {@link #lu}
   * @param pivots the pivots of {@link #lu}
   * @param b B (n, rightSides); gets X
   * @throws SingularMatrixException if A is exactly singular; then B is as it was
   */
  default void solveLu(int n, int rightSides, HostMemory lu, int[] pivots, HostMemory b) {
    FactorSizes.requirePivots(n, pivots);
    solveTriangular(Triangle.LOWER, n, rightSides, lu, b);
    solveTriangular(Triangle.UNIT_UPPER, n, rightSides, lu, b);
    FactorSizes.exchangeBack(n, rightSides, pivots, b);
  }

  /**
   * Solves {@code A X = B} in place with A's Cholesky factor.
   *
   * @param lower L (n, n) by {@link #cholesky}
   * @param b B (n, rightSides); gets X
   * @throws SingularMatrixException if an element of L's diagonal is zero; then B is as it was
   */
  default void solvePositiveDefinite(int n, int rightSides, HostMemory lower, HostMemory b) {
    solveTriangular(Triangle.LOWER, n, rightSides, lower, b);
    solveTriangular(Triangle.LOWER_TRANSPOSED, n, rightSides, lower, b);
  }

  /**
   * The determinant of a matrix from its factors: sign 1 and logarithm 0 if n is 0.
   *
   * @param lu the factors (n, n) by {@link #lu}
   * @param pivots the pivots of {@link #lu}
   */
  static SignLogDet slogdet(int n, HostMemory lu, int[] pivots) {
    FactorSizes.require("LU", lu, n, n);
    FactorSizes.requirePivots(n, pivots);
    Unsafe unsafe = HostMemory.unsafe();
    double sign = 1;
    double log = 0;
    for (int i = 0; i < n; i++) {
      double factor = unsafe.getDouble(lu.base(), lu.offset() + ((long) i * n + i) * Double.BYTES);
      if (factor == 0) {
        return new SignLogDet(0, Double.NEGATIVE_INFINITY);
      }
      sign = (pivots[i] == i + 1) == (factor > 0) ? sign : -sign;
      log += Math.log(Math.abs(factor));
    }
    return new SignLogDet(sign, log);
  }

  /** Releases what this factorizer owns; may be called twice. */
  @Override
  void close();
}
