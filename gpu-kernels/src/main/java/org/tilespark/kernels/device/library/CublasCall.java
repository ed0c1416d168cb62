package org.tilespark.kernels.device.library;

import com.sun.jna.Pointer;
import org.tilespark.kernels.factor.Triangle;

/**
 * A call of cuBLAS on column-major matrices of type double without gaps between columns. Operands
 * are addresses in device memory.
 *
 * @param name its name, for messages
 * @param calls makes it
 */
public record CublasCall(String name, Calls calls) {
  /** Makes a call. */
  @FunctionalInterface
  public interface Calls {
    /**
     * Makes it.
     *
     * @param one the number 1, as a factor
     * @param zero the number 0, likewise
     * @return its status
     */
    int on(Pointer handle, Pointer one, Pointer zero);
  }

  /**
   * y = op(A) x.
   *
   * @param operation {@link LibCublas#CUBLAS_OP_N} or {@link LibCublas#CUBLAS_OP_T}
   * @param a A (rows, cols)
   */
  public static CublasCall gemv(int operation, int rows, int cols, long a, long x, long y) {
    return new CublasCall(
        "cublasDgemv",
        (handle, one, zero) ->
            LibCublas.cublasDgemv_v2_64(
                handle, operation, rows, cols, one, a, rows, x, 1, zero, y, 1));
  }

  /** y = A x, of the upper triangle of A (n, n). */
  public static CublasCall symv(int n, long a, long x, long y) {
    return new CublasCall(
        "cublasDsymv",
        (handle, one, zero) ->
            LibCublas.cublasDsymv_v2_64(
                handle, LibCublas.CUBLAS_FILL_MODE_UPPER, n, one, a, n, x, 1, zero, y, 1));
  }

  /**
   * Solves a triangular system in place of B, of row-major matrices.
   *
   * @param t T (n, n)
   * @param b B (n, sides); gets X
   */
  public static CublasCall trsm(Triangle triangle, int n, int sides, long t, long b) {
    // X^T op(T)^T = B^T, where BLAS sees T^T, B^T and X^T.
    return new CublasCall(
        "cublasDtrsm",
        (handle, one, zero) ->
            LibCublas.cublasDtrsm_v2_64(
                handle,
                LibCublas.CUBLAS_SIDE_RIGHT,
                triangle.isLower()
                    ? LibCublas.CUBLAS_FILL_MODE_UPPER
                    : LibCublas.CUBLAS_FILL_MODE_LOWER,
                triangle.isTransposed() ? LibCublas.CUBLAS_OP_T : LibCublas.CUBLAS_OP_N,
                triangle.hasUnitDiagonal()
                    ? LibCublas.CUBLAS_DIAG_UNIT
                    : LibCublas.CUBLAS_DIAG_NON_UNIT,
                sides,
                n,
                one,
                t,
                n,
                b,
                sides));
  }
}
