package org.tilespark.kernels.factor;

import java.util.Optional;
import org.tilespark.kernels.factor.LapackFactorizer.Scratch;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * QR of a tall matrix with products in place of Householder reflectors: CholeskyQR2 (Y. Yamamoto,
 * Y. Nakatsukasa, Y. Yanagisawa, T. Fukaya, "Roundoff error analysis of the CholeskyQR2 algorithm",
 * 2015).
 *
 * <pre>
 *   A^T A   = R1^T R1     Q1 = A R1^-1
 *   Q1^T Q1 = R2^T R2     Q  = Q1 R2^-1     R = R2 R1
 * </pre>
 *
 * <p>The residual of each row is that of a triangular solve, whatever A is. Q is orthogonal up to
 * rounding if Q1 nearly is, which is checked; it is not if the condition of A, with columns of
 * equal length, is above about 1e7, or squares of elements are out of range. Then the caller needs
 * another algorithm.
 *
 * <p>The matrix is read in chunks of rows that stay in a cache. The diagonal of R is positive.
 */
final class CholeskyQr {
  /** Rows for each column from which this takes less time than Householder reflectors. */
  private static final int LEAST_ROWS_PER_COLUMN = 3;

  /** Columns from which this is taken: with 8 it gains nothing, with 30 half of the time. */
  private static final int LEAST_COLS = 16;

  private static final int CHUNK_ROWS = 512;

  /** Bound of the Frobenius norm of {@code Q1^T Q1 - I}: the condition of Q1 is then below 1.2. */
  private static final double MOST_DISTANCE = 0.1;

  private final LapackFactorizer lapack;
  private final int rows;
  private final int cols;

  private CholeskyQr(LapackFactorizer lapack, int rows, int cols) {
    this.lapack = lapack;
    this.rows = rows;
    this.cols = cols;
  }

  /**
   * Factorises a matrix if it is tall and well conditioned.
   *
   * @param a (rows, cols), which stays as it is
   * @param q gets Q, in memory that the routines work on; R has the same bits with and without it
   * @param r (cols, cols), gets R
   * @return false if the matrix needs another algorithm; q is then undefined
   */
  static boolean factorize(
      LapackFactorizer lapack,
      int rows,
      int cols,
      HostMemory a,
      Optional<HostMemory> q,
      HostMemory r) {
    return cols >= LEAST_COLS
        && rows >= (long) LEAST_ROWS_PER_COLUMN * cols
        && new CholeskyQr(lapack, rows, cols).factorize(a, q, r);
  }

  private boolean factorize(HostMemory a, Optional<HostMemory> q, HostMemory r) {
    long square = (long) cols * cols;
    try (Scratch first = lapack.scratch(square);
        Scratch second = lapack.scratch(square);
        Scratch spare = lapack.scratch(square);
        Scratch chunk = lapack.scratch((long) Math.min(CHUNK_ROWS, rows) * cols)) {
      HostMemory r1 = first.memory();
      HostMemory r2 = second.memory();
      for (int row = 0; row < rows; row += CHUNK_ROWS) {
        HostMemory part = part(chunk.memory(), 0, row);
        part(a, row, row).copyTo(part);
        addProducts(row, part, r1);
      }
      if (!makeTriangle(r1, spare.memory())) {
        return false;
      }
      for (int row = 0; row < rows; row += CHUNK_ROWS) {
        HostMemory part = q.isPresent() ? part(q.get(), row, row) : part(chunk.memory(), 0, row);
        part(a, row, row).copyTo(part);
        lapack.trsmRight(height(row), cols, r1, part);
        addProducts(row, part, r2);
      }
      if (!(distance(r2) <= MOST_DISTANCE) || !makeTriangle(r2, spare.memory())) {
        return false;
      }
      for (int row = 0; row < rows && q.isPresent(); row += CHUNK_ROWS) {
        lapack.trsmRight(height(row), cols, r2, part(q.get(), row, row));
      }
      lapack
          .products()
          .multiply(
              MultiplyProblem.dense(cols, cols, cols, ElementType.FLOAT64, false, false),
              r2,
              r1,
              spare.memory());
      spare.memory().copyTo(r);
      FactorSizes.clear(true, cols, cols, r);
      return true;
    }
  }

  /** Rows of the chunk that begins at a row. */
  private int height(int row) {
    return Math.min(CHUNK_ROWS, rows - row);
  }

  /** The place of the chunk that begins at {@code row} of A, from row {@code at} of a matrix. */
  private HostMemory part(HostMemory matrix, int at, int row) {
    long rowBytes = (long) cols * Double.BYTES;
    return matrix.slice(at * rowBytes, height(row) * rowBytes);
  }

  /** Adds the products of a chunk's columns to those of the chunks before it. */
  private void addProducts(int row, HostMemory part, HostMemory sums) {
    lapack
        .products()
        .multiplyHalf(
            new MultiplyProblem(
                new Extents(cols, height(row), cols),
                ElementType.FLOAT64,
                Precision.FULL,
                new Stored(true, cols),
                new Stored(false, cols),
                cols,
                row == 0 ? Factors.OVERWRITE : Factors.ADD,
                Batch.ONE),
            part,
            sums);
  }

  /**
   * Replaces products, of which those below the diagonal are undefined, by their upper Cholesky
   * factor.
   *
   * @return false if there is none
   */
  private boolean makeTriangle(HostMemory products, HostMemory spare) {
    FactorSizes.transpose(cols, cols, products, spare);
    if (LapackFactorizer.requireAccepted("dpotrf", lapack.potrf(cols, spare)) > 0) {
      return false;
    }
    FactorSizes.transpose(cols, cols, spare, products);
    FactorSizes.clear(true, cols, cols, products);
    return true;
  }

  /** The Frobenius norm of a symmetric matrix less the identity; NaN if an element is NaN. */
  private double distance(HostMemory products) {
    double sum = 0;
    for (int i = 0; i < cols; i++) {
      for (int j = i; j < cols; j++) {
        double value = FactorSizes.get(products, (long) i * cols + j) - (i == j ? 1 : 0);
        sum += (i == j ? 1 : 2) * value * value;
      }
    }
    return Math.sqrt(sum);
  }
}
