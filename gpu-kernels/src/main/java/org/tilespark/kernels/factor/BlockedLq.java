package org.tilespark.kernels.factor;

import java.util.Arrays;
import org.netlib.lapack.Dgelq2;
import org.netlib.lapack.Dlarft;
import org.netlib.lapack.Dorgl2;
import org.netlib.util.intW;
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
 * The algorithms of dgelqf and dorglq, with our products in place of f2j's dlarfb, whose plain
 * loops take most of their time. Panels of {@value #WIDTH} columns are factorised by LAPACK; the
 * columns right of a panel are multiplied by the panel's block reflector {@code I - V^T T V}.
 *
 * <p>Source: E. Anderson et al., LAPACK Users' Guide, 3rd edition, 1999, section 3.4 and the
 * comments of dgelqf, dorglq and dlarfb. In terms of our row-major matrix {@code B} right of a
 * panel and of {@code P = V^T}, which is as high as B: forward {@code B - P T^T (P^T B)}, and for Q
 * {@code B - P T (P^T B)}.
 */
final class BlockedLq {
  private static final int WIDTH = 32;
  private static final Factors MINUS = new Factors(-1, 0);

  private final Multiplier products;
  private final int rows;
  private final int cols;
  private final double[] a; // (rows, cols), row-major, from `at` on
  private final int at;
  private final double[] tau; // scalar factors of the reflectors, from `tauAt` on
  private final int tauAt;
  private final double[] t = new double[WIDTH * WIDTH]; // column-major
  private final double[] work = new double[WIDTH];
  private double[] reflectors = {}; // P, row-major
  private double[] first = {}; // P^T B, row-major
  private double[] second = {}; // minus T or T^T times that, row-major

  /** The factorization of a matrix that is at {@code at} in {@code a}; arrays are borrowed. */
  BlockedLq(Multiplier products, int rows, int cols, double[] a, int at, double[] tau, int tauAt) {
    this.products = products;
    this.rows = rows;
    this.cols = cols;
    this.a = a;
    this.at = at;
    this.tau = tau;
    this.tauAt = tauAt;
  }

  /** As {@link LapackFactorizer#gelqf}. */
  int factorize() {
    int small = Math.min(rows, cols);
    intW info = new intW(0);
    for (int j = 0; j < small && info.val == 0; j += WIDTH) {
      int width = Math.min(WIDTH, small - j);
      Dgelq2.dgelq2(width, rows - j, a, place(j, j), cols, tau, tauAt + j, work, 0, info);
      reflect(j, width, cols, true);
    }
    return info.val;
  }

  /** As {@link LapackFactorizer#orglq}. */
  int makeQ() {
    int small = Math.min(rows, cols);
    intW info = new intW(0);
    for (int j = (small - 1) / WIDTH * WIDTH; j >= 0 && info.val == 0; j -= WIDTH) {
      int width = Math.min(WIDTH, small - j);
      reflect(j, width, small, false);
      Dorgl2.dorgl2(width, rows - j, width, a, place(j, j), cols, tau, tauAt + j, work, 0, info);
      for (int row = 0; row < j; row++) {
        Arrays.fill(a, place(row, j), place(row, j + width), 0);
      }
    }
    return info.val;
  }

  private int place(int row, int col) {
    return at + row * cols + col;
  }

  /**
   * Multiplies the columns from the end of a panel to {@code end} by the panel's block reflector.
   *
   * @param j first column of the panel, and the first row of what is multiplied
   * @param width columns of the panel
   * @param forward true on the way to L, false on the way to Q
   */
  private void reflect(int j, int width, int end, boolean forward) {
    int high = rows - j;
    int wide = end - j - width;
    if (wide <= 0) {
      return;
    }
    Arrays.fill(t, 0);
    Dlarft.dlarft("F", "R", high, width, a, place(j, j), cols, tau, tauAt + j, t, 0, width);
    reflectors = atLeast(reflectors, high * width);
    for (int row = 0; row < high; row++) {
      int stored = Math.min(row, width);
      System.arraycopy(a, place(j + row, j), reflectors, row * width, stored);
      if (row < width) {
        reflectors[row * width + row] = 1;
        Arrays.fill(reflectors, row * width + row + 1, (row + 1) * width, 0);
      }
    }
    first = atLeast(first, width * wide);
    second = atLeast(second, width * wide);
    Matrix p = Matrix.of(reflectors, 0, high, width, width);
    Matrix b = Matrix.of(a, place(j, j + width), high, wide, cols);
    Matrix pb = Matrix.of(first, 0, width, wide, wide);
    Matrix tpb = Matrix.of(second, 0, width, wide, wide);
    multiply(p, true, b, pb, Factors.OVERWRITE);
    // The column-major T is the row-major transpose of T.
    multiply(Matrix.of(t, 0, width, width, width), !forward, pb, tpb, MINUS);
    multiply(p, false, tpb, b, Factors.ADD);
  }

  /** A row-major matrix in an array; {@code lead} elements from one row's start to the next's. */
  private record Matrix(HostMemory memory, int rows, int cols, int lead) {
    static Matrix of(double[] array, int from, int rows, int cols, int lead) {
      long length = (long) (rows - 1) * lead + cols;
      HostMemory memory =
          HostMemory.ofArray(array).slice((long) from * Double.BYTES, length * Double.BYTES);
      return new Matrix(memory, rows, cols, lead);
    }
  }

  private void multiply(
      Matrix left, boolean transposed, Matrix right, Matrix result, Factors factors) {
    products.multiply(
        new MultiplyProblem(
            new Extents(result.rows, right.rows, result.cols),
            ElementType.FLOAT64,
            Precision.FULL,
            new Stored(transposed, left.lead),
            new Stored(false, right.lead),
            result.lead,
            factors,
            Batch.ONE),
        left.memory,
        right.memory,
        result.memory);
  }

  private static double[] atLeast(double[] array, int length) {
    return array.length >= length ? array : new double[length];
  }
}
