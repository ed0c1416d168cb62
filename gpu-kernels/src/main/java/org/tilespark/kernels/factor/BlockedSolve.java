package org.tilespark.kernels.factor;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Extents;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Batch;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.MultiplyProblem.Stored;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * Solves {@code X R = B} for many rows with our products, which f2j's plain loops in dtrsm lack: a
 * block of columns of X after the other, each by substitution.
 */
final class BlockedSolve {
  private static final int WIDTH = 32;
  private static final Factors SUBTRACT = new Factors(-1, 1);

  private final Multiplier products;
  private final int rows;
  private final int n;
  private final double[] columns; // those of a block, each of `rows` elements

  BlockedSolve(Multiplier products, int rows, int n) {
    this.products = products;
    this.rows = rows;
    this.n = n;
    this.columns = new double[Math.multiplyExact(Math.min(WIDTH, n), rows)];
  }

  /**
   * Replaces B by X.
   *
   * @param r (n, n), upper triangular, from {@code rAt} on
   * @param b (rows, n), from {@code at} on
   */
  void solve(double[] r, int rAt, double[] b, int at) {
    for (int j = 0; j < n; j += WIDTH) {
      int width = Math.min(WIDTH, n - j);
      if (j > 0) {
        subtract(j, width, r, rAt, b, at);
      }
      for (int row = 0; row < rows; row++) {
        for (int i = 0; i < width; i++) {
          columns[i * rows + row] = b[at + row * n + j + i];
        }
      }
      for (int i = 0; i < width; i++) {
        int diagonal = rAt + (j + i) * n + j + i;
        divide(i * rows, r[diagonal]);
        for (int k = i + 1; k < width; k++) {
          subtract(k * rows, i * rows, r[diagonal + k - i]);
        }
      }
      for (int row = 0; row < rows; row++) {
        for (int i = 0; i < width; i++) {
          b[at + row * n + j + i] = columns[i * rows + row];
        }
      }
    }
  }

  private void divide(int column, double divisor) {
    for (int row = 0; row < rows; row++) {
      columns[column + row] /= divisor;
    }
  }

  private void subtract(int column, int other, double factor) {
    for (int row = 0; row < rows; row++) {
      columns[column + row] -= factor * columns[other + row];
    }
  }

  /** Subtracts from columns of B the products of X's columns before them with R's. */
  private void subtract(int j, int width, double[] r, int rAt, double[] b, int at) {
    products.multiply(
        new MultiplyProblem(
            new Extents(rows, j, width),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(false, n),
            new Stored(false, n),
            n,
            SUBTRACT,
            Batch.ONE),
        part(b, at, rows, j),
        part(r, rAt + j, j, width),
        part(b, at + j, rows, width));
  }

  /** Some columns of a matrix with n columns. */
  private HostMemory part(double[] array, int from, int high, int wide) {
    long length = (long) (high - 1) * n + wide;
    return HostMemory.ofArray(array).slice((long) from * Double.BYTES, length * Double.BYTES);
  }
}
