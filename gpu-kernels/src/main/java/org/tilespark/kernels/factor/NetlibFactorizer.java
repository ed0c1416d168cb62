package org.tilespark.kernels.factor;

import org.netlib.blas.Dtrsm;
import org.netlib.lapack.Dgelqf;
import org.netlib.lapack.Dgesdd;
import org.netlib.lapack.Dgesvd;
import org.netlib.lapack.Dgetrf;
import org.netlib.lapack.Dlamch;
import org.netlib.lapack.Dorglq;
import org.netlib.lapack.Dpotrf;
import org.netlib.lapack.Dsyevd;
import org.netlib.util.intW;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Factorises in plain Java, by the LAPACK 3.1 that f2j translated, which each distribution of Spark
 * brings. Matrices are copied to arrays on the heap.
 *
 * <p>LAPACK's matrices are column-major, so it sees the transpose of each matrix here: R of QR is
 * its L of LQ, and U and Vt change places. Nothing is transposed for that.
 */
public final class NetlibFactorizer implements Factorizer {
  static {
    // The machine's constants are found by the first call, which other threads must not see
    // halfway.
    Dlamch.dlamch("E");
  }

  /** One that holds nothing. */
  public NetlibFactorizer() {}

  @Override
  public void qrR(int rows, int cols, HostMemory a, HostMemory r) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("R", r, small, cols);
    if (small > 0) {
      lq(rows, cols, a, r);
    }
  }

  @Override
  public void qr(int rows, int cols, HostMemory a, HostMemory q, HostMemory r) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("Q", q, rows, small);
    FactorSizes.require("R", r, small, cols);
    if (small == 0) {
      return;
    }
    Reflections lq = lq(rows, cols, a, r);
    intW info = new intW(0);
    double[] asked = new double[1];
    Dorglq.dorglq(small, rows, small, lq.matrix, 0, cols, lq.scales, 0, asked, 0, -1, info);
    double[] work = workspace("dorglq", asked);
    Dorglq.dorglq(small, rows, small, lq.matrix, 0, cols, lq.scales, 0, work, 0, work.length, info);
    requireAccepted("dorglq", info);
    HostMemory made = HostMemory.ofArray(lq.matrix); // (rows, cols), of which the first `small`
    long rowBytes = (long) small * Double.BYTES;
    for (int i = 0; i < rows; i++) {
      made.slice((long) i * cols * Double.BYTES, rowBytes).copyTo(q.slice(i * rowBytes, rowBytes));
    }
  }

  /** Householder's reflections as dgelqf leaves them. */
  private record Reflections(double[] matrix, double[] scales) {}

  private Reflections lq(int rows, int cols, HostMemory a, HostMemory r) {
    int small = Math.min(rows, cols);
    double[] matrix = copyOf(a);
    double[] scales = new double[small];
    double[] asked = new double[1];
    intW info = new intW(0);
    Dgelqf.dgelqf(cols, rows, matrix, 0, cols, scales, 0, asked, 0, -1, info);
    double[] work = workspace("dgelqf", asked);
    Dgelqf.dgelqf(cols, rows, matrix, 0, cols, scales, 0, work, 0, work.length, info);
    requireAccepted("dgelqf", info);
    HostMemory.ofArray(matrix).slice(0, r.bytes()).copyTo(r);
    FactorSizes.clear(true, small, cols, r);
    return new Reflections(matrix, scales);
  }

  @Override
  public void svdvals(int rows, int cols, HostMemory a, HostMemory s) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("s", s, small);
    if (small > 0) {
      double[] none = new double[1];
      double[] values = new double[small];
      svd("N", rows, cols, a, values, none, 1, none, 1);
      HostMemory.ofArray(values).copyTo(s);
    }
  }

  @Override
  public void svd(int rows, int cols, HostMemory a, HostMemory u, HostMemory s, HostMemory vt) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("U", u, rows, small);
    FactorSizes.require("s", s, small);
    FactorSizes.require("Vt", vt, small, cols);
    if (small > 0) {
      double[] left = new double[length(rows, small)];
      double[] values = new double[small];
      double[] right = new double[length(small, cols)];
      svd("S", rows, cols, a, values, right, cols, left, small);
      HostMemory.ofArray(left).copyTo(u);
      HostMemory.ofArray(values).copyTo(s);
      HostMemory.ofArray(right).copyTo(vt);
    }
  }

  /** Divide and conquer; if that does not converge, the QR iteration, which is slower. */
  private void svd(
      String job,
      int rows,
      int cols,
      HostMemory a,
      double[] s,
      double[] u,
      int leadU,
      double[] vt,
      int leadVt) {
    double[] asked = new double[1];
    int[] integers = new int[Math.multiplyExact(8, Math.min(rows, cols))];
    intW info = new intW(0);
    double[] matrix = copyOf(a);
    Dgesdd.dgesdd(
        job, cols, rows, matrix, 0, cols, s, 0, u, 0, leadU, vt, 0, leadVt, asked, 0, -1, integers,
        0, info);
    double[] work = workspace("dgesdd", asked);
    Dgesdd.dgesdd(
        job,
        cols,
        rows,
        matrix,
        0,
        cols,
        s,
        0,
        u,
        0,
        leadU,
        vt,
        0,
        leadVt,
        work,
        0,
        work.length,
        integers,
        0,
        info);
    requireAccepted("dgesdd", info);
    if (info.val == 0) {
      return;
    }
    matrix = copyOf(a);
    Dgesvd.dgesvd(
        job, job, cols, rows, matrix, 0, cols, s, 0, u, 0, leadU, vt, 0, leadVt, asked, 0, -1,
        info);
    work = workspace("dgesvd", asked);
    Dgesvd.dgesvd(
        job,
        job,
        cols,
        rows,
        matrix,
        0,
        cols,
        s,
        0,
        u,
        0,
        leadU,
        vt,
        0,
        leadVt,
        work,
        0,
        work.length,
        info);
    requireAccepted("dgesvd", info);
    if (info.val != 0) {
      throw new NoConvergenceException("dgesvd", rows, cols, info.val);
    }
  }

  @Override
  public void eigvalsh(int n, HostMemory a, HostMemory values) {
    FactorSizes.require("A", a, n, n);
    FactorSizes.require("values", values, n);
    if (n > 0) {
      HostMemory.ofArray(eigenvalues("N", n, copyOf(a))).copyTo(values);
    }
  }

  @Override
  public void eigh(int n, int k, HostMemory a, HostMemory values, HostMemory vectors) {
    FactorSizes.requireCount(n, k);
    FactorSizes.require("A", a, n, n);
    FactorSizes.require("values", values, k);
    FactorSizes.require("vectors", vectors, n, k);
    if (k == 0) {
      return;
    }
    double[] matrix = copyOf(a);
    double[] all = eigenvalues("V", n, matrix);
    long skipped = (long) (n - k) * Double.BYTES;
    HostMemory.ofArray(all).slice(skipped, values.bytes()).copyTo(values);
    // Row j of what dsyevd left is the vector of value j.
    FactorSizes.transpose(
        k, n, HostMemory.ofArray(matrix).slice(skipped * n, vectors.bytes()), vectors);
  }

  private double[] eigenvalues(String job, int n, double[] matrix) {
    double[] values = new double[n];
    double[] asked = new double[1];
    int[] askedIntegers = new int[1];
    intW info = new intW(0);
    Dsyevd.dsyevd(job, "U", n, matrix, 0, n, values, 0, asked, 0, -1, askedIntegers, 0, -1, info);
    double[] work = workspace("dsyevd", asked);
    int[] integers = new int[Math.max(1, askedIntegers[0])];
    Dsyevd.dsyevd(
        job,
        "U",
        n,
        matrix,
        0,
        n,
        values,
        0,
        work,
        0,
        work.length,
        integers,
        0,
        integers.length,
        info);
    requireAccepted("dsyevd", info);
    if (info.val != 0) {
      throw new NoConvergenceException("dsyevd", n, n, info.val);
    }
    return values;
  }

  @Override
  public void cholesky(int n, HostMemory a) {
    FactorSizes.require("A", a, n, n);
    if (n == 0) {
      return;
    }
    double[] matrix = copyOf(a);
    intW info = new intW(0);
    Dpotrf.dpotrf("U", n, matrix, 0, n, info);
    requireAccepted("dpotrf", info);
    if (info.val > 0) {
      throw new NotPositiveDefiniteException(info.val, n);
    }
    HostMemory.ofArray(matrix).copyTo(a);
    FactorSizes.clear(false, n, n, a);
  }

  @Override
  public void lu(int n, HostMemory a, int[] pivots) {
    FactorSizes.require("A", a, n, n);
    FactorSizes.requirePivots(n, pivots);
    if (n == 0) {
      return;
    }
    double[] matrix = copyOf(a);
    intW info = new intW(0);
    Dgetrf.dgetrf(n, n, matrix, 0, n, pivots, 0, info);
    requireAccepted("dgetrf", info);
    HostMemory.ofArray(matrix).copyTo(a);
  }

  @Override
  public void solveTriangular(
      Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b) {
    FactorSizes.require("T", t, n, n);
    FactorSizes.require("B", b, n, rightSides);
    FactorSizes.requireRegular(triangle, n, t);
    if (n == 0 || rightSides == 0) {
      return;
    }
    double[] matrix = copyOf(t);
    double[] sides = copyOf(b);
    // X^T op(T)^T = B^T, where BLAS sees T^T, B^T and X^T.
    Dtrsm.dtrsm(
        "R",
        triangle.isLower() ? "U" : "L",
        triangle.isTransposed() ? "T" : "N",
        triangle.hasUnitDiagonal() ? "U" : "N",
        rightSides,
        n,
        1,
        matrix,
        0,
        n,
        sides,
        0,
        rightSides);
    HostMemory.ofArray(sides).copyTo(b);
  }

  @Override
  public void close() {}

  @Override
  public String toString() {
    return "cpu (Java)";
  }

  private static double[] copyOf(HostMemory matrix) {
    double[] copy = new double[length(matrix.bytes() / Double.BYTES)];
    matrix.copyTo(HostMemory.ofArray(copy));
    return copy;
  }

  private static int length(int rows, int cols) {
    return length((long) rows * cols);
  }

  private static int length(long elements) {
    if (elements > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(
          elements + " elements of a matrix; a factorisation in Java takes up to 2147483639");
    }
    return (int) elements;
  }

  private static double[] workspace(String routine, double[] asked) {
    // A count that overflowed in the routine's own arithmetic is negative.
    if (!(asked[0] >= 0 && asked[0] <= Integer.MAX_VALUE - 8)) {
      throw new IllegalArgumentException(
          routine + " asks for a workspace that no array can hold; factorise a smaller matrix");
    }
    return new double[Math.max(1, (int) asked[0])];
  }

  private static void requireAccepted(String routine, intW info) {
    if (info.val < 0) {
      throw new IllegalStateException(
          "Argument " + -info.val + " of " + routine + " is wrong; please report this");
    }
  }
}
