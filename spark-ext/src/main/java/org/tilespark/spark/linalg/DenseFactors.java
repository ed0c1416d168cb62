package org.tilespark.spark.linalg;

import java.util.Arrays;
import java.util.List;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.SignLogDet;

/**
 * Factorises matrices on the heap.
 *
 * @param lapack computes the factorisations; borrowed
 */
record DenseFactors(Factorizer lapack) {
  /**
   * The factors that {@code spec} names of the matrix A, or of [A | B], which may be overwritten.
   *
   * @throws IllegalArgumentException if the matrix does not have these factors
   */
  List<Factor> of(FactorSpec spec, Dense a) {
    return switch (spec.made()) {
      case CHOLESKY, LOWER -> one(spec, cholesky(a));
      case EIGH -> eigh(a, spec.largest() < 0 ? a.rows() : spec.largest());
      case EIGVALSH -> {
        Dense values = Dense.zeros(a.rows(), 1);
        lapack.eigvalsh(a.rows(), a.memory(), values.memory());
        yield one(spec, values);
      }
      case SVD -> {
        Svd svd = svd(a);
        yield List.of(new Factor("u", svd.u), new Factor("s", svd.s), new Factor("vt", svd.vt));
      }
      case STACK_SVD -> {
        Svd svd = svd(a);
        int count = spec.largest();
        yield List.of(
            new Factor("u", svd.u.columns(0, count).beside(a)),
            new Factor("s", svd.s.top(count)),
            new Factor("vt", svd.vt.top(count)));
      }
      case SVDVALS -> one(spec, svdvals(a));
      case QR -> qr(a);
      case STACK_QR -> {
        List<Factor> qr = qr(a);
        yield List.of(new Factor("q", qr.get(0).matrix().beside(a)), qr.get(1));
      }
      case QR_R -> {
        Dense r = Dense.zeros(Math.min(a.rows(), a.cols()), a.cols());
        lapack.qrR(a.rows(), a.cols(), a.memory(), r.memory());
        yield one(spec, r);
      }
      case SOLVE, SOLVE_POSITIVE -> {
        Dense left = a.columns(0, spec.columns());
        Dense right = a.columns(spec.columns(), a.cols());
        yield one(
            spec,
            solved(spec.made(), spec.made() == Factoring.SOLVE ? lu(left) : cholesky(left), right));
      }
      case LSTSQ -> lstsq(spec, a);
      case PINV -> one(spec, pinv(spec, a));
      case STACK_PINV -> one(spec, pinv(spec, a).transposed().beside(a));
      case SLOGDET -> {
        int[] pivots = new int[a.rows()];
        lapack.lu(a.rows(), a.memory(), pivots);
        SignLogDet found = Factorizer.slogdet(a.rows(), a.memory(), pivots);
        yield one(spec, new Dense(1, 2, new double[] {found.sign(), found.logAbsDet()}));
      }
      case RANK -> one(spec, element(above(a, spec.tolerance() * a.at(0, 0))));
      case COUNT_ABOVE -> one(spec, element(above(a, spec.tolerance())));
      case LU -> one(spec, lu(a));
    };
  }

  /**
   * The solution X of A X = B.
   *
   * @param made kind of the solution: {@link Factoring#SOLVE} or {@link Factoring#SOLVE_POSITIVE}
   * @param factor factor of A: {@link Factoring#LU} or {@link Factoring#LOWER}
   * @param b the matrix B, which is overwritten with X
   */
  Dense solved(Factoring made, Dense factor, Dense b) {
    int n = b.rows();
    if (made == Factoring.SOLVE_POSITIVE) {
      lapack.solvePositiveDefinite(n, b.cols(), factor.memory(), b.memory());
      return b;
    }
    int[] pivots = new int[n];
    for (int i = 0; i < n; i++) {
      pivots[i] = (int) factor.at(n, i);
    }
    lapack.solveLu(n, b.cols(), factor.top(n).memory(), pivots, b.memory());
    return b;
  }

  private static List<Factor> one(FactorSpec spec, Dense matrix) {
    return List.of(new Factor(spec.made().factors().get(0), matrix));
  }

  private static Dense element(double value) {
    return new Dense(1, 1, new double[] {value});
  }

  private Dense cholesky(Dense a) {
    lapack.cholesky(a.rows(), a.memory());
    return a;
  }

  /** The factors of LU in one matrix, and in a row below them the pivots. */
  private Dense lu(Dense a) {
    int n = a.rows();
    Dense factor = new Dense(n + 1, n, Arrays.copyOf(a.values(), Math.multiplyExact(n + 1, n)));
    int[] pivots = new int[n];
    lapack.lu(n, factor.top(n).memory(), pivots);
    for (int i = 0; i < n; i++) {
      factor.values()[n * n + i] = pivots[i];
    }
    return factor;
  }

  private List<Factor> eigh(Dense a, int k) {
    Dense values = Dense.zeros(k, 1);
    Dense vectors = Dense.zeros(a.rows(), k);
    lapack.eigh(a.rows(), k, a.memory(), values.memory(), vectors.memory());
    return List.of(new Factor("values", values), new Factor("vectors", vectors));
  }

  private List<Factor> qr(Dense a) {
    int k = Math.min(a.rows(), a.cols());
    Dense q = Dense.zeros(a.rows(), k);
    Dense r = Dense.zeros(k, a.cols());
    lapack.qr(a.rows(), a.cols(), a.memory(), q.memory(), r.memory());
    return List.of(new Factor("q", q), new Factor("r", r));
  }

  // ---- results from singular values

  /** A thin singular value decomposition. */
  private record Svd(Dense u, Dense s, Dense vt) {}

  private Svd svd(Dense a) {
    int k = Math.min(a.rows(), a.cols());
    Svd svd = new Svd(Dense.zeros(a.rows(), k), Dense.zeros(k, 1), Dense.zeros(k, a.cols()));
    lapack.svd(a.rows(), a.cols(), a.memory(), svd.u.memory(), svd.s.memory(), svd.vt.memory());
    return svd;
  }

  private Dense svdvals(Dense a) {
    Dense s = Dense.zeros(Math.min(a.rows(), a.cols()), 1);
    lapack.svdvals(a.rows(), a.cols(), a.memory(), s.memory());
    return s;
  }

  /** The number of elements of a column that are above a bound. */
  private static int above(Dense column, double bound) {
    int count = 0;
    for (int i = 0; i < column.rows(); i++) {
      count += column.at(i, 0) > bound ? 1 : 0;
    }
    return count;
  }

  private Dense pinv(FactorSpec spec, Dense a) {
    Svd svd = svd(a);
    int rank = above(svd.s, spec.tolerance() * svd.s.at(0, 0));
    return inverted(svd, svd.u.transposed(), rank);
  }

  /**
   * The product V diag(1/s) C, with the first {@code rank} singular values.
   *
   * @param c the matrix C, with a row for each singular value; overwritten
   */
  private static Dense inverted(Svd svd, Dense c, int rank) {
    Dense x = Dense.zeros(svd.vt.cols(), c.cols());
    int width = c.cols();
    for (int k = 0; k < rank; k++) {
      double value = svd.s.at(k, 0);
      for (int j = 0; j < width; j++) {
        c.values()[k * width + j] /= value;
      }
    }
    for (int i = 0; i < x.rows(); i++) {
      for (int k = 0; k < rank; k++) {
        addRow(svd.vt.at(k, i), c, k, x, i);
      }
    }
    return x;
  }

  /**
   * Adds {@code factor} times row {@code row} of one matrix to row {@code at} of another of as many
   * columns.
   */
  private static void addRow(double factor, Dense from, int row, Dense to, int at) {
    int width = from.cols();
    double[] source = from.values();
    double[] sums = to.values();
    int start = row * width;
    int target = at * width;
    for (int j = 0; j < width; j++) {
      sums[target + j] += factor * source[start + j];
    }
  }

  private List<Factor> lstsq(FactorSpec spec, Dense both) {
    Dense a = both.columns(0, spec.columns());
    Dense b = both.columns(spec.columns(), both.cols());
    Svd svd = svd(a);
    int rank = above(svd.s, spec.tolerance() * svd.s.at(0, 0));
    Dense c = Dense.zeros(svd.s.rows(), b.cols()); // the product U^T B
    for (int i = 0; i < b.rows(); i++) {
      for (int k = 0; k < rank; k++) {
        addRow(svd.u.at(i, k), b, i, c, k);
      }
    }
    Dense x = inverted(svd, c, rank);
    return List.of(
        new Factor("x", x),
        new Factor("residuals", residuals(a, x, b)),
        new Factor("rank", element(rank)),
        new Factor("s", svd.s));
  }

  /** The sum of the squares of each column of B - A X; B is overwritten. */
  private static Dense residuals(Dense a, Dense x, Dense b) {
    int width = b.cols();
    Dense sums = Dense.zeros(width, 1);
    for (int i = 0; i < a.rows(); i++) {
      for (int k = 0; k < a.cols(); k++) {
        addRow(-a.at(i, k), x, k, b, i);
      }
      for (int j = 0; j < width; j++) {
        sums.values()[j] += b.at(i, j) * b.at(i, j);
      }
    }
    return sums;
  }
}
