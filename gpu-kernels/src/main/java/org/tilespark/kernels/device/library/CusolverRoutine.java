package org.tilespark.kernels.device.library;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import java.util.List;

/**
 * A routine of cuSOLVER on column-major matrices of type double without gaps between columns, of
 * one size.
 *
 * @param name its name in LAPACK, without the type
 * @param size extents of its matrices, for messages
 * @param operands for each operand, how many numbers of 8 bytes it has
 * @param question asks cuSOLVER for the bytes of the routine's work areas
 * @param call queues the routine
 */
public record CusolverRoutine(
    String name, String size, List<Long> operands, Question question, Call call) {
  private static final int TYPE = LibCusolver.CUDA_R_64F;

  /** A handle of cuSOLVER and the parameters that its calls take with it. */
  public record Handle(Pointer library, Pointer params) {
    /** Frees the handle and the parameters. */
    public void destroy() {
      LibCusolver.cusolverDnDestroyParams(params);
      LibCusolver.cusolverDnDestroy(library);
    }
  }

  /**
   * The memory that a routine works with.
   *
   * @param area device address of a work area of {@code bytes} bytes
   * @param host address of a work area of {@code hostBytes} bytes outside the heap
   * @param info device address of the int that the routine writes its result to
   */
  public record Work(long area, long bytes, Pointer host, long hostBytes, long info) {}

  /** Asks for the bytes of a routine's work areas. */
  @FunctionalInterface
  public interface Question {
    /**
     * Puts the bytes of both work areas into {@code deviceBytes} and {@code hostBytes}; returns the
     * status of cuSOLVER's call.
     */
    int ask(Handle handle, LongByReference deviceBytes, LongByReference hostBytes);
  }

  /** Queues a routine. */
  @FunctionalInterface
  public interface Call {
    /**
     * Queues the routine on the operands at these device addresses; returns the status of
     * cuSOLVER's call.
     */
    int queue(Handle handle, List<Long> at, Work work);
  }

  private static String size(int rows, int cols) {
    return rows + " x " + cols;
  }

  private static long elements(int rows, int cols) {
    return (long) rows * cols;
  }

  /**
   * QR of A (m, n): the Householder vectors overwrite A; min(m, n) scalar factors, LAPACK's tau.
   */
  public static CusolverRoutine geqrf(int m, int n) {
    return new CusolverRoutine(
        "geqrf",
        size(m, n),
        List.of(elements(m, n), (long) Math.min(m, n)),
        (handle, device, host) ->
            LibCusolver.cusolverDnXgeqrf_bufferSize(
                handle.library(), handle.params(), m, n, TYPE, 0, m, TYPE, 0, TYPE, device, host),
        (handle, at, work) ->
            LibCusolver.cusolverDnXgeqrf(
                handle.library(),
                handle.params(),
                m,
                n,
                TYPE,
                at.get(0),
                m,
                TYPE,
                at.get(1),
                TYPE,
                work.area(),
                work.bytes(),
                work.host(),
                work.hostBytes(),
                work.info()));
  }

  /**
   * The first k columns of Q (m, k or more) from the Householder vectors and scalar factors that
   * {@link #geqrf} gives.
   */
  public static CusolverRoutine orgqr(int m, int k) {
    return new CusolverRoutine(
        "orgqr",
        size(m, k),
        List.of(elements(m, k), (long) k),
        (handle, device, host) -> {
          IntByReference doubles = new IntByReference();
          int status =
              LibCusolver.cusolverDnDorgqr_bufferSize(handle.library(), m, k, k, 0, m, 0, doubles);
          device.setValue((long) doubles.getValue() * Double.BYTES);
          return status;
        },
        (handle, at, work) ->
            LibCusolver.cusolverDnDorgqr(
                handle.library(),
                m,
                k,
                k,
                at.get(0),
                m,
                at.get(1),
                work.area(),
                (int) Math.min(Integer.MAX_VALUE, work.bytes() / Double.BYTES),
                work.info()));
  }

  /**
   * Singular values and vectors of A (m, n), which is overwritten. Its operands are A, n values, U
   * (m, n) and V^T (n, n).
   *
   * @throws IllegalArgumentException if m is less than n
   */
  public static CusolverRoutine gesvd(int m, int n) {
    requireTall(m, n);
    return new CusolverRoutine(
        "gesvd",
        size(m, n),
        List.of(elements(m, n), (long) n, elements(m, n), elements(n, n)),
        (handle, device, host) ->
            LibCusolver.cusolverDnXgesvd_bufferSize(
                handle.library(),
                handle.params(),
                (byte) 'S',
                (byte) 'S',
                m,
                n,
                TYPE,
                0,
                m,
                TYPE,
                0,
                TYPE,
                0,
                m,
                TYPE,
                0,
                n,
                TYPE,
                device,
                host),
        (handle, at, work) ->
            LibCusolver.cusolverDnXgesvd(
                handle.library(),
                handle.params(),
                (byte) 'S',
                (byte) 'S',
                m,
                n,
                TYPE,
                at.get(0),
                m,
                TYPE,
                at.get(1),
                TYPE,
                at.get(2),
                m,
                TYPE,
                at.get(3),
                n,
                TYPE,
                work.area(),
                work.bytes(),
                work.host(),
                work.hostBytes(),
                work.info()));
  }

  /**
   * Singular values of A (m, n), which is overwritten.
   *
   * @throws IllegalArgumentException if m is less than n
   */
  public static CusolverRoutine gesvdValues(int m, int n) {
    requireTall(m, n);
    return new CusolverRoutine(
        "gesvd",
        size(m, n),
        List.of(elements(m, n), (long) n),
        (handle, device, host) ->
            LibCusolver.cusolverDnXgesvd_bufferSize(
                handle.library(),
                handle.params(),
                (byte) 'N',
                (byte) 'N',
                m,
                n,
                TYPE,
                0,
                m,
                TYPE,
                0,
                TYPE,
                0,
                m,
                TYPE,
                0,
                n,
                TYPE,
                device,
                host),
        (handle, at, work) ->
            LibCusolver.cusolverDnXgesvd(
                handle.library(),
                handle.params(),
                (byte) 'N',
                (byte) 'N',
                m,
                n,
                TYPE,
                at.get(0),
                m,
                TYPE,
                at.get(1),
                TYPE,
                0,
                m,
                TYPE,
                0,
                n,
                TYPE,
                work.area(),
                work.bytes(),
                work.host(),
                work.hostBytes(),
                work.info()));
  }

  private static void requireTall(int m, int n) {
    if (m < n) {
      throw new IllegalArgumentException("gesvd of %s x %s; expected m >= n".formatted(m, n));
    }
  }

  /**
   * The n eigenvalues of the upper triangle of A (n, n).
   *
   * @param job {@link LibCusolver#CUSOLVER_EIG_MODE_VECTOR} if A gets the vectors in its columns,
   *     or {@link LibCusolver#CUSOLVER_EIG_MODE_NOVECTOR}
   */
  public static CusolverRoutine syevd(int job, int n) {
    return new CusolverRoutine(
        "syevd",
        size(n, n),
        List.of(elements(n, n), (long) n),
        (handle, device, host) ->
            LibCusolver.cusolverDnXsyevd_bufferSize(
                handle.library(),
                handle.params(),
                job,
                LibCublas.CUBLAS_FILL_MODE_UPPER,
                n,
                TYPE,
                0,
                n,
                TYPE,
                0,
                TYPE,
                device,
                host),
        (handle, at, work) ->
            LibCusolver.cusolverDnXsyevd(
                handle.library(),
                handle.params(),
                job,
                LibCublas.CUBLAS_FILL_MODE_UPPER,
                n,
                TYPE,
                at.get(0),
                n,
                TYPE,
                at.get(1),
                TYPE,
                work.area(),
                work.bytes(),
                work.host(),
                work.hostBytes(),
                work.info()));
  }

  /**
   * The k largest eigenvalues of the upper triangle of A (n, n), in an operand of n doubles; their
   * vectors overwrite the first k columns of A.
   *
   * @param found gets the number of eigenvalues that were found
   */
  public static CusolverRoutine syevdx(int n, int k, LongByReference found) {
    LongByReference none = new LongByReference(); // bounds of an interval, which are not read
    return new CusolverRoutine(
        "syevdx",
        size(n, k),
        List.of(elements(n, n), (long) n),
        (handle, device, host) ->
            LibCusolver.cusolverDnXsyevdx_bufferSize(
                handle.library(),
                handle.params(),
                LibCusolver.CUSOLVER_EIG_MODE_VECTOR,
                LibCusolver.CUSOLVER_EIG_RANGE_I,
                LibCublas.CUBLAS_FILL_MODE_UPPER,
                n,
                TYPE,
                0,
                n,
                none.getPointer(),
                none.getPointer(),
                n - k + 1L,
                n,
                new LongByReference(),
                TYPE,
                0,
                TYPE,
                device,
                host),
        (handle, at, work) ->
            LibCusolver.cusolverDnXsyevdx(
                handle.library(),
                handle.params(),
                LibCusolver.CUSOLVER_EIG_MODE_VECTOR,
                LibCusolver.CUSOLVER_EIG_RANGE_I,
                LibCublas.CUBLAS_FILL_MODE_UPPER,
                n,
                TYPE,
                at.get(0),
                n,
                none.getPointer(),
                none.getPointer(),
                n - k + 1L,
                n,
                found.getPointer(),
                TYPE,
                at.get(1),
                TYPE,
                work.area(),
                work.bytes(),
                work.host(),
                work.hostBytes(),
                work.info()));
  }

  /** Cholesky's factor of the upper triangle of A (n, n), in its place. */
  public static CusolverRoutine potrf(int n) {
    return new CusolverRoutine(
        "potrf",
        size(n, n),
        List.of(elements(n, n)),
        (handle, device, host) ->
            LibCusolver.cusolverDnXpotrf_bufferSize(
                handle.library(),
                handle.params(),
                LibCublas.CUBLAS_FILL_MODE_UPPER,
                n,
                TYPE,
                0,
                n,
                TYPE,
                device,
                host),
        (handle, at, work) ->
            LibCusolver.cusolverDnXpotrf(
                handle.library(),
                handle.params(),
                LibCublas.CUBLAS_FILL_MODE_UPPER,
                n,
                TYPE,
                at.get(0),
                n,
                TYPE,
                work.area(),
                work.bytes(),
                work.host(),
                work.hostBytes(),
                work.info()));
  }

  /** LU of A (n, n) in its place, and n pivots, which are longs. */
  public static CusolverRoutine getrf(int n) {
    return new CusolverRoutine(
        "getrf",
        size(n, n),
        List.of(elements(n, n), (long) n),
        (handle, device, host) ->
            LibCusolver.cusolverDnXgetrf_bufferSize(
                handle.library(), handle.params(), n, n, TYPE, 0, n, TYPE, device, host),
        (handle, at, work) ->
            LibCusolver.cusolverDnXgetrf(
                handle.library(),
                handle.params(),
                n,
                n,
                TYPE,
                at.get(0),
                n,
                at.get(1),
                TYPE,
                work.area(),
                work.bytes(),
                work.host(),
                work.hostBytes(),
                work.info()));
  }
}
