package org.tilespark.kernels.factor;

import org.netlib.blas.Dtrsm;
import org.netlib.lapack.Dgesdd;
import org.netlib.lapack.Dgesvd;
import org.netlib.lapack.Dgetrf;
import org.netlib.lapack.Dlamch;
import org.netlib.lapack.Dpotrf;
import org.netlib.lapack.Dsyevd;
import org.netlib.lapack.Dsyevr;
import org.netlib.util.intW;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import sun.misc.Unsafe;

/**
 * Factorises in plain Java, with f2j's translation of LAPACK 3.1, which every distribution of Spark
 * contains. Matrices that are not in arrays of type double[] are copied to arrays for the length of
 * a call.
 */
public final class NetlibFactorizer extends LapackFactorizer {
  static {
    // The first call computes constants of the machine in static fields; other threads must not see
    // these fields half done.
    Dlamch.dlamch("E");
  }

  /**
   * A factorizer that multiplies with {@code products}.
   *
   * @param products multiplies matrices on the heap; closed with this factorizer
   */
  public NetlibFactorizer(Multiplier products) {
    super(products);
  }

  /** Scratch in an array on the heap. */
  private record OnHeap(HostMemory memory) implements Scratch {
    @Override
    public void close() {}
  }

  /**
   * Calls a routine that takes a workspace; with length -1 the routine only says how long the
   * workspace must be.
   */
  @FunctionalInterface
  private interface Routine {
    void call(double[] work, int length, intW info);
  }

  private static int run(String name, Routine routine) {
    double[] asked = new double[1];
    intW info = new intW(0);
    routine.call(asked, -1, info);
    if (info.val == 0) {
      double[] work = new double[workspace(name, asked[0])];
      routine.call(work, work.length, info);
    }
    return info.val;
  }

  private static double[] array(HostMemory memory) {
    return (double[]) memory.base();
  }

  /** The index in its array of the first element of a range. */
  private static int first(HostMemory memory) {
    return (int) ((memory.offset() - Unsafe.ARRAY_DOUBLE_BASE_OFFSET) / Double.BYTES);
  }

  @Override
  protected Scratch scratch(long doubles) {
    if (doubles > Integer.MAX_VALUE - 8) {
      throw new IllegalArgumentException(
          "A matrix of %d elements; a factorisation in Java takes up to 2147483639"
              .formatted(doubles));
    }
    return new OnHeap(HostMemory.ofArray(new double[(int) doubles]));
  }

  @Override
  protected boolean worksOn(HostMemory memory) {
    return memory.base() instanceof double[]
        && (memory.offset() - Unsafe.ARRAY_DOUBLE_BASE_OFFSET) % Double.BYTES == 0;
  }

  @Override
  protected int gelqf(int rows, int cols, HostMemory a, HostMemory scales) {
    return lq(rows, cols, a, scales).factorize();
  }

  @Override
  protected int orglq(int rows, int cols, HostMemory a, HostMemory scales) {
    return lq(rows, cols, a, scales).makeQ();
  }

  private BlockedLq lq(int rows, int cols, HostMemory a, HostMemory scales) {
    return new BlockedLq(products(), rows, cols, array(a), first(a), array(scales), first(scales));
  }

  @Override
  protected int gesdd(
      char job, int rows, int cols, HostMemory a, HostMemory s, HostMemory u, HostMemory vt) {
    int small = Math.min(rows, cols);
    String vectors = String.valueOf(job);
    double[] m = array(a);
    double[] values = array(s);
    double[] left = array(vt);
    double[] right = array(u);
    int[] integers = new int[Math.multiplyExact(8, small)];
    int[] at = {first(a), first(s), first(vt), first(u)};
    return run(
        "dgesdd",
        (work, length, info) ->
            Dgesdd.dgesdd(
                vectors, cols, rows, m, at[0], cols, values, at[1], left, at[2], cols, right, at[3],
                small, work, 0, length, integers, 0, info));
  }

  @Override
  protected int gesvd(
      char job, int rows, int cols, HostMemory a, HostMemory s, HostMemory u, HostMemory vt) {
    int small = Math.min(rows, cols);
    String vectors = String.valueOf(job);
    double[] m = array(a);
    double[] values = array(s);
    double[] left = array(vt);
    double[] right = array(u);
    int[] at = {first(a), first(s), first(vt), first(u)};
    return run(
        "dgesvd",
        (work, length, info) ->
            Dgesvd.dgesvd(
                vectors, vectors, cols, rows, m, at[0], cols, values, at[1], left, at[2], cols,
                right, at[3], small, work, 0, length, info));
  }

  @Override
  protected int syevd(char job, int n, HostMemory a, HostMemory values) {
    double[] m = array(a);
    double[] w = array(values);
    int at = first(a);
    int valuesAt = first(values);
    int[] asked = new int[1];
    return run(
        "dsyevd",
        (work, length, info) -> {
          int[] integers = length < 0 ? asked : new int[Math.max(1, asked[0])];
          int most = length < 0 ? -1 : integers.length;
          Dsyevd.dsyevd(
              String.valueOf(job),
              "U",
              n,
              m,
              at,
              n,
              w,
              valuesAt,
              work,
              0,
              length,
              integers,
              0,
              most,
              info);
        });
  }

  @Override
  protected int syevr(int n, int k, HostMemory a, HostMemory values, HostMemory vectors) {
    double[] m = array(a);
    double[] w = array(values);
    double[] z = array(vectors);
    int at = first(a);
    int valuesAt = first(values);
    int vectorsAt = first(vectors);
    int[] support = new int[Math.multiplyExact(2, n)];
    int[] asked = new int[1];
    return run(
        "dsyevr",
        (work, length, info) -> {
          int[] integers = length < 0 ? asked : new int[Math.max(1, asked[0])];
          int most = length < 0 ? -1 : integers.length;
          Dsyevr.dsyevr(
              "V",
              "I",
              "U",
              n,
              m,
              at,
              n,
              0,
              0,
              n - k + 1,
              n,
              0,
              new intW(0),
              w,
              valuesAt,
              z,
              vectorsAt,
              n,
              support,
              0,
              work,
              0,
              length,
              integers,
              0,
              most,
              info);
        });
  }

  @Override
  protected int potrf(int n, HostMemory a) {
    intW info = new intW(0);
    Dpotrf.dpotrf("U", n, array(a), first(a), n, info);
    return info.val;
  }

  @Override
  protected int getrf(int n, HostMemory a, int[] pivots) {
    intW info = new intW(0);
    Dgetrf.dgetrf(n, n, array(a), first(a), n, pivots, 0, info);
    return info.val;
  }

  @Override
  protected void trsm(Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b) {
    // BLAS is column-major, so it sees T^T, B^T and X^T: the system is X^T op(T)^T = B^T.
    Dtrsm.dtrsm(
        "R",
        triangle.isLower() ? "U" : "L",
        triangle.isTransposed() ? "T" : "N",
        triangle.hasUnitDiagonal() ? "U" : "N",
        rightSides,
        n,
        1,
        array(t),
        first(t),
        n,
        array(b),
        first(b),
        rightSides);
  }

  @Override
  protected void trsmRight(int rows, int n, HostMemory r, HostMemory b) {
    new BlockedSolve(products(), rows, n).solve(array(r), first(r), array(b), first(b));
  }

  @Override
  public String toString() {
    return "cpu (LAPACK in Java)";
  }
}
