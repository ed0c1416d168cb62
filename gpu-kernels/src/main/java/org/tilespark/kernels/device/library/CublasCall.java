package org.tilespark.kernels.device.library;

import com.sun.jna.Pointer;
import org.tilespark.kernels.factor.Triangle;

/**
 * A call of cuBLAS on column-major matrices of type double without gaps between columns. Operands
 * are addresses in device memory.
 *
 * @param name the call's name, for messages
 * @param calls makes the call
 */
public record CublasCall(String name, Calls calls) {
  /** Makes a call of cuBLAS. */
  @FunctionalInterface
  public interface Calls {
    /**
     * Makes the call.
     *
     * @param one the number 1, as a factor
     * @param zero the number 0, as a factor
     * @return the call's status
     */
    int on(Pointer handle, Pointer one, Pointer zero);
  }

  /**
   * y = op(A) x.
   *
   * @param operation {@link LibCublas#CUBLAS_OP_N} or {@link LibCublas#CUBLAS_OP_T}
   * @param a device address of A (rows, cols)
   */
  public static CublasCall gemv(int operation, int rows, int cols, long a, long x, long y) {
    return new CublasCall(
        "cublasDgemv",
        (handle, one, zero) ->
            LibCublas.cublasDgemv_v2_64(
                handle, operation, rows, cols, one, a, rows, x, 1, zero, y, 1));
  }

  /** y = A x for a symmetric A (n, n), of which the upper triangle is read. */
  public static CublasCall symv(int n, long a, long x, long y) {
    return new CublasCall(
        "cublasDsymv",
        (handle, one, zero) ->
            LibCublas.cublasDsymv_v2_64(
                handle, LibCublas.CUBLAS_FILL_MODE_UPPER, n, one, a, n, x, 1, zero, y, 1));
  }

  /**
   * Solves the triangular system op(T) X = B in place of B; the matrices are row-major.
   *
   * @param t device address of T (n, n)
   * @param b device address of B (n, sides), which X overwrites
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
