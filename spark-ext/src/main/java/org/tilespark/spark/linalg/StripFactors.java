package org.tilespark.spark.linalg;

import java.util.Arrays;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.rows.BlockArguments.Block;
import org.tilespark.spark.runtime.ExecutorRuntime;

/**
 * The QR factorization of a strip, in double. For a strip with at most as many rows as columns, Q
 * is the identity and R the strip.
 *
 * @param by expression whose factorizer is used
 * @param block the strip's block, whose row is valid
 * @param strip elements of the strip
 */
record StripFactors(FactorExpression by, Block block, Dense strip) {
  /**
   * The factor R, with at most as many rows as columns.
   *
   * @param ones true to put a column of ones before the strip's columns
   */
  Dense triangle(boolean ones) {
    Dense a = ones ? strip.behindOnes() : strip;
    if (a.rows() <= a.cols()) {
      return a;
    }
    Dense r = Dense.zeros(a.cols(), a.cols());
    return by.factorized(
        block,
        lapack -> {
          lapack.qrR(a.rows(), a.cols(), a.memory(), r.memory());
          return r;
        });
  }

  /**
   * The product Q X, where Q is the factor that belongs to a given R.
   *
   * <p>R may come from another LAPACK, whose R of the same strip may differ in signs, and in whole
   * rows if columns are nearly dependent. Then Q is this LAPACK's Q times an orthogonal matrix W,
   * where this LAPACK's R is near W R.
   *
   * @param x the matrix X, with a row for each column of Q
   * @param given the R of {@link #triangle}, by any LAPACK
   */
  Dense lifted(Dense x, Dense given) {
    if (strip.rows() <= strip.cols()) {
      return x;
    }
    Dense q = Dense.zeros(strip.rows(), strip.cols());
    Dense r = Dense.zeros(strip.cols(), strip.cols());
    return by.factorized(
        block,
        lapack -> {
          lapack.qr(strip.rows(), strip.cols(), strip.memory(), q.memory(), r.memory());
          return Arrays.equals(r.values(), given.values())
              ? product(q, false, x)
              : product(q, false, turned(lapack, r, given, x));
        });
  }

  /**
   * The product W X with the orthogonal matrix W for which {@code to} is nearest to {@code W from},
   * up to a small factor.
   *
   * <p>{@code to} and {@code from} are each an R of the same matrix up to rounding, so in their
   * polar decompositions R = P H the factors H differ only by rounding, for any rank (N. J. Higham,
   * Functions of Matrices, 2008, section 8.1). W maps one P to the other. Columns are scaled to
   * equal size first, so that each column's error is proportional to it.
   */
  private static Dense turned(Factorizer lapack, Dense to, Dense from, Dense x) {
    int n = from.cols();
    int[] exponents = new int[n];
    for (int j = 0; j < n; j++) {
      double largest = 0;
      for (int i = 0; i < n; i++) {
        largest = Math.max(largest, Math.abs(from.at(i, j)));
      }
      exponents[j] = largest == 0 ? 0 : Math.getExponent(largest);
    }
    Dense ofX = product(polar(lapack, from, exponents), true, x);
    return product(polar(lapack, to, exponents), false, ofX);
  }

  /**
   * The orthogonal factor of the polar decomposition of a matrix whose columns are scaled by powers
   * of two.
   */
  private static Dense polar(Factorizer lapack, Dense r, int[] exponents) {
    int n = r.cols();
    Dense scaled = Dense.zeros(n, n);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        scaled.values()[i * n + j] = Math.scalb(r.at(i, j), -exponents[j]);
      }
    }
    Dense u = Dense.zeros(n, n);
    Dense s = Dense.zeros(n, 1);
    Dense vt = Dense.zeros(n, n);
    lapack.svd(n, n, scaled.memory(), u.memory(), s.memory(), vt.memory());
    return product(u, false, vt);
  }

  /** The product A B, or A^T B of a square A. */
  private static Dense product(Dense a, boolean transposed, Dense b) {
    Dense c = Dense.zeros(a.rows(), b.cols());
    ExecutorRuntime.current()
        .hostMultiplier()
        .multiply(
            MultiplyProblem.dense(
                a.rows(), a.cols(), b.cols(), ElementType.FLOAT64, transposed, false),
            a.memory(),
            b.memory(),
            c.memory());
    return c;
  }
}
