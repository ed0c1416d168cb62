package org.tilespark.kernels.factor;

import java.util.Optional;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;

/**
 * Factorises by a LAPACK of the host: checks arguments, keeps the caller's operands unchanged, and
 * calls the routines of a subclass.
 *
 * <p>LAPACK's matrices are column-major, so it reads each of our matrices as its transpose: our R
 * of QR is its L of LQ, and U and Vt change places. So only eigenvectors are transposed.
 *
 * <p>Routines return LAPACK's {@code info}, and borrow only memory that {@link #worksOn} accepts.
 */
public abstract class LapackFactorizer implements Factorizer {
  private final Multiplier products;

  /**
   * @param products multiplies matrices that {@link #worksOn} accepts; closed with this factorizer
   */
  protected LapackFactorizer(Multiplier products) {
    this.products = products;
  }

  /** The multiplier of this factorizer. */
  final Multiplier products() {
    return products;
  }

  /** Memory that routines can work on; closing frees it. */
  protected interface Scratch extends AutoCloseable {
    /** The memory, whose content is not defined at first. */
    HostMemory memory();

    @Override
    void close();
  }

  /** Scratch for {@code doubles} values of type double; the caller closes it. */
  protected abstract Scratch scratch(long doubles);

  /** True if routines can work on this memory of a caller. */
  protected abstract boolean worksOn(HostMemory memory);

  /**
   * dgelqf of the transpose of {@code a} (rows, cols): the Householder vectors overwrite {@code a};
   * {@code scales} gets min(rows, cols) scalar factors, LAPACK's tau.
   */
  protected abstract int gelqf(int rows, int cols, HostMemory a, HostMemory scales);

  /** dorglq: makes Q from the Householder vectors and scalar factors that {@link #gelqf} left. */
  protected abstract int orglq(int rows, int cols, HostMemory a, HostMemory scales);

  /**
   * dgesdd of the transpose of {@code a} (rows, cols).
   *
   * @param job 'S', or 'N' which leaves {@code u} and {@code vt} as they are
   * @param u gets U (rows, min(rows, cols))
   * @param vt gets V^T (min(rows, cols), cols)
   */
  protected abstract int gesdd(
      char job, int rows, int cols, HostMemory a, HostMemory s, HostMemory u, HostMemory vt);

  /** dgesvd; parameters as for {@link #gesdd}. */
  protected abstract int gesvd(
      char job, int rows, int cols, HostMemory a, HostMemory s, HostMemory u, HostMemory vt);

  /**
   * dsyevd of the lower triangle of {@code a} (n, n); with job 'V', row i of {@code a} gets the
   * vector of value i.
   */
  protected abstract int syevd(char job, int n, HostMemory a, HostMemory values);

  /**
   * dsyevr of the lower triangle of {@code a} (n, n), for its k largest eigenvalues.
   *
   * @param values n places, of which the first k get values in ascending order
   * @param vectors (k, n): gets the vector of value i in row i
   */
  protected abstract int syevr(int n, int k, HostMemory a, HostMemory values, HostMemory vectors);

  /** dpotrf of the lower triangle of {@code a} (n, n). */
  protected abstract int potrf(int n, HostMemory a);

  /** dgetrf of the transpose of {@code a} (n, n). */
  protected abstract int getrf(int n, HostMemory a, int[] pivots);

  /** dtrsm: solves {@code T X = B} in place of {@code b} (n, rightSides). */
  protected abstract void trsm(
      Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b);

  /**
   * dtrsm: solves {@code X R = B} for upper triangular R (n, n), in place of {@code b} (rows, n).
   */
  protected abstract void trsmRight(int rows, int n, HostMemory r, HostMemory b);

  @Override
  public final void qrR(int rows, int cols, HostMemory a, HostMemory r) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("R", r, small, cols);
    if (small == 0 || CholeskyQr.factorize(this, rows, cols, a, Optional.empty(), r)) {
      return;
    }
    try (Scratch matrix = scratch((long) rows * cols)) {
      a.copyTo(matrix.memory());
      inPlace(rows, cols, matrix.memory(), false, r);
    }
  }

  @Override
  public final void qr(int rows, int cols, HostMemory a, HostMemory q, HostMemory r) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("Q", q, rows, small);
    FactorSizes.require("R", r, small, cols);
    if (small == 0) {
      return;
    }
    if (rows < cols) {
      try (Scratch made = scratch((long) rows * cols)) {
        a.copyTo(made.memory());
        inPlace(rows, cols, made.memory(), true, r);
        copyColumns(made.memory(), rows, cols, q, small);
      }
      return;
    }
    try (Place made = new Place(q)) {
      if (!CholeskyQr.factorize(this, rows, cols, a, Optional.of(made.memory()), r)) {
        a.copyTo(made.memory());
        inPlace(rows, cols, made.memory(), true, r);
      }
      made.finish();
    }
  }

  /**
   * Factorises a matrix in its own memory, and puts its R into {@code r}.
   *
   * @param withQ true to put Q in the matrix's place; if the matrix is wide, in its first columns
   */
  private void inPlace(int rows, int cols, HostMemory matrix, boolean withQ, HostMemory r) {
    int small = Math.min(rows, cols);
    try (Scratch scales = scratch(small)) {
      requireAccepted("dgelqf", gelqf(rows, cols, matrix, scales.memory()));
      matrix.slice(0, r.bytes()).copyTo(r);
      FactorSizes.clear(true, small, cols, r);
      if (withQ) {
        requireAccepted("dorglq", orglq(rows, cols, matrix, scales.memory()));
      }
    }
  }

  /** Copies the first columns of a matrix. */
  private static void copyColumns(
      HostMemory source, int rows, int cols, HostMemory target, int copied) {
    if (copied == cols) {
      source.copyTo(target);
      return;
    }
    long bytes = (long) copied * Double.BYTES;
    for (int i = 0; i < rows; i++) {
      source
          .slice((long) i * cols * Double.BYTES, bytes)
          .copyTo(target.slice((long) i * copied * Double.BYTES, bytes));
    }
  }

  @Override
  public final void svdvals(int rows, int cols, HostMemory a, HostMemory s) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("s", s, small);
    if (small > 0) {
      try (Place values = new Place(s)) {
        svd('N', rows, cols, a, values.memory(), values.memory(), values.memory());
        values.finish();
      }
    }
  }

  @Override
  public final void svd(
      int rows, int cols, HostMemory a, HostMemory u, HostMemory s, HostMemory vt) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("U", u, rows, small);
    FactorSizes.require("s", s, small);
    FactorSizes.require("Vt", vt, small, cols);
    if (small > 0) {
      try (Place left = new Place(u);
          Place values = new Place(s);
          Place right = new Place(vt)) {
        svd('S', rows, cols, a, values.memory(), left.memory(), right.memory());
        left.finish();
        values.finish();
        right.finish();
      }
    }
  }

  /**
   * Singular values by divide and conquer; if that does not converge, by the QR iteration, which is
   * slower.
   */
  private void svd(
      char job, int rows, int cols, HostMemory a, HostMemory s, HostMemory u, HostMemory vt) {
    try (Scratch matrix = scratch((long) rows * cols)) {
      a.copyTo(matrix.memory());
      if (requireAccepted("dgesdd", gesdd(job, rows, cols, matrix.memory(), s, u, vt)) > 0) {
        a.copyTo(matrix.memory());
        int info = requireAccepted("dgesvd", gesvd(job, rows, cols, matrix.memory(), s, u, vt));
        if (info > 0) {
          throw new NoConvergenceException("dgesvd", rows, cols, info);
        }
      }
    }
  }

  @Override
  public final void eigvalsh(int n, HostMemory a, HostMemory values) {
    FactorSizes.require("A", a, n, n);
    FactorSizes.require("values", values, n);
    if (n > 0) {
      try (Scratch matrix = scratch((long) n * n);
          Place all = new Place(values)) {
        a.copyTo(matrix.memory());
        requireConverged("dsyevd", n, syevd('N', n, matrix.memory(), all.memory()));
        all.finish();
      }
    }
  }

  @Override
  public final void eigh(int n, int k, HostMemory a, HostMemory values, HostMemory vectors) {
    FactorSizes.requireCount(n, k);
    FactorSizes.require("A", a, n, n);
    FactorSizes.require("values", values, k);
    FactorSizes.require("vectors", vectors, n, k);
    if (k == 0) {
      return;
    }
    try (Scratch matrix = scratch((long) n * n);
        Scratch all = scratch(n)) {
      a.copyTo(matrix.memory());
      if (k < n) {
        try (Scratch rows = scratch((long) k * n)) {
          requireConverged("dsyevr", n, syevr(n, k, matrix.memory(), all.memory(), rows.memory()));
          FactorSizes.transpose(k, n, rows.memory(), vectors);
        }
      } else {
        requireConverged("dsyevd", n, syevd('V', n, matrix.memory(), all.memory()));
        FactorSizes.transpose(n, n, matrix.memory(), vectors);
      }
      all.memory().slice(0, values.bytes()).copyTo(values);
    }
  }

  @Override
  public final void cholesky(int n, HostMemory a) {
    FactorSizes.require("A", a, n, n);
    if (n == 0) {
      return;
    }
    try (Place matrix = new Place(a)) {
      matrix.begin();
      int info = requireAccepted("dpotrf", potrf(n, matrix.memory()));
      if (info > 0) {
        throw new NotPositiveDefiniteException(info, n);
      }
      matrix.finish();
      FactorSizes.clear(false, n, n, a);
    }
  }

  @Override
  public final void lu(int n, HostMemory a, int[] pivots) {
    FactorSizes.require("A", a, n, n);
    FactorSizes.requirePivots(n, pivots);
    if (n == 0) {
      return;
    }
    try (Place matrix = new Place(a)) {
      matrix.begin();
      requireAccepted("dgetrf", getrf(n, matrix.memory(), pivots));
      matrix.finish();
    }
  }

  @Override
  public final void solveTriangular(
      Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b) {
    FactorSizes.require("T", t, n, n);
    FactorSizes.require("B", b, n, rightSides);
    FactorSizes.requireRegular(triangle, n, t);
    if (n == 0 || rightSides == 0) {
      return;
    }
    try (Place matrix = new Place(t);
        Place sides = new Place(b)) {
      matrix.begin();
      sides.begin();
      trsm(triangle, n, rightSides, matrix.memory(), sides.memory());
      sides.finish();
    }
  }

  @Override
  public final void close() {
    products.close();
  }

  /** Memory of a caller, which closing does not free. */
  private record Borrowed(HostMemory memory) implements Scratch {
    @Override
    public void close() {}
  }

  /** A caller's memory to work on, or scratch in place of it. */
  private final class Place implements AutoCloseable {
    private final HostMemory callers;
    private final Scratch used;

    Place(HostMemory callers) {
      this.callers = callers;
      this.used =
          worksOn(callers) ? new Borrowed(callers) : scratch(callers.bytes() / Double.BYTES);
    }

    HostMemory memory() {
      return used.memory();
    }

    /** Copies the caller's content to the scratch, if there is one. */
    void begin() {
      if (!(used instanceof Borrowed)) {
        callers.copyTo(used.memory());
      }
    }

    /** Copies the scratch, if there is one, to the caller's memory. */
    void finish() {
      if (!(used instanceof Borrowed)) {
        used.memory().copyTo(callers);
      }
    }

    @Override
    public void close() {
      used.close();
    }
  }

  static int requireAccepted(String routine, int info) {
    if (info < 0) {
      throw new IllegalStateException(
          "Argument " + -info + " of " + routine + " is wrong; please report this");
    }
    return info;
  }

  private static void requireConverged(String routine, int n, int info) {
    if (requireAccepted(routine, info) > 0) {
      throw new NoConvergenceException(routine, n, n, info);
    }
  }

  /**
   * Checks the length of a workspace that a routine asks for. A count that overflowed in the
   * routine's own arithmetic is negative.
   *
   * @throws IllegalArgumentException if no array can have that length
   */
  protected static int workspace(String routine, double asked) {
    if (!(asked >= 0 && asked <= Integer.MAX_VALUE - 8)) {
      throw new IllegalArgumentException(
          "%s asks for a workspace of %.0f doubles; up to 2147483639 can be had. Factorise a"
                  .formatted(routine, asked)
              + " smaller matrix");
    }
    return Math.max(1, (int) asked);
  }
}
