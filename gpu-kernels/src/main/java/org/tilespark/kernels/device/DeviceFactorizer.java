package org.tilespark.kernels.device;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.Cusolver.Areas;
import org.tilespark.kernels.device.Cusolver.Session;
import org.tilespark.kernels.device.library.LibCublas;
import org.tilespark.kernels.device.library.LibCusolver;
import org.tilespark.kernels.factor.FactorSizes;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.Magnitudes;
import org.tilespark.kernels.factor.NotPositiveDefiniteException;
import org.tilespark.kernels.factor.RefusedException;
import org.tilespark.kernels.factor.Triangle;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * Factorises on a device, by cuSOLVER. A call uploads a matrix and downloads its factors; the
 * device holds neither between two calls. Safe for several threads.
 *
 * <p>cuSOLVER's matrices are column-major. Where the transpose has the wanted factors, it gets the
 * row-major matrix as it is, which it reads as the transpose; otherwise the device transposes.
 *
 * <p>All methods throw a {@link RefusedException}, with operands as they were, if the device or its
 * library cannot factorise a matrix: there is no memory, a call fails, an iteration does not
 * converge, the elements are so large or small that their squares might overflow or vanish, or the
 * factors are not those of the matrix. The last is tested with a random vector x: Q (R x) must be A
 * x, and Q^T (Q x) must be x (R. Freivalds, Probabilistic machines can use less running time,
 * 1977). It takes a few passes over the matrix.
 */
public final class DeviceFactorizer implements Factorizer {
  /**
   * Shorter side from which factorising on a device is worth the copies. Panels of 32 columns are
   * launched one after the other, so a matrix of few panels leaves most of the device idle. An
   * estimate, until {@code dev/bench factors --cases device} has measured it.
   */
  public static final int LEAST_SIDE = 512;

  /**
   * Allowed error as a multiple of the longer side times epsilon; the tests allow LAPACK the same.
   */
  private static final double ALLOWED = 10;

  /** Heap arrays go through two pinned buffers of this size, one filling while one is copied. */
  private static final long STAGING_BYTES = 8L << 20;

  /** Unused staging buffers kept between calls. */
  private static final long KEPT_STAGING_BYTES = 4 * STAGING_BYTES;

  /** The device rounds each buffer up to whole 256 bytes; a call has fewer than ten. */
  private static final long ROUNDING_BYTES = 10 * 256;

  private static final double EPSILON = Math.ulp(1.0);
  private static final long SEED = 20_261_129;

  private final Engine engine;
  private final Room room;

  /** Lets a call use device memory. */
  @FunctionalInterface
  public interface Room {
    /**
     * Runs work on this thread while the work may hold {@code bytes} of the device's memory.
     *
     * @throws ResourceException if so much memory is not free; the work has not begun
     */
    void use(long bytes, Runnable work);
  }

  /** Resources that all calls share. */
  private record Engine(
      CudaDevice device,
      DeviceTransposer transposer,
      Cusolver cusolver,
      Cublas cublas,
      PinnedPool staging) {}

  private DeviceFactorizer(Engine engine, Room room) {
    this.engine = engine;
    this.room = room;
  }

  /**
   * A factorizer on a device, which the caller closes, or why there is none: cuSOLVER or cuBLAS is
   * missing. Device memory is used as calls need it.
   *
   * @param device borrowed, as is {@code transposer}; must stay open longer
   * @param libraryPath directories where to look when the system's loader does not know them
   */
  public static Availability<DeviceFactorizer> find(
      CudaDevice device, DeviceTransposer transposer, List<Path> libraryPath) {
    Availability<Cusolver> cusolver = Cusolver.open(device, libraryPath);
    if (!cusolver.isPresent()) {
      return Availability.not(cusolver.whyNot());
    }
    return Cublas.open(device, libraryPath)
        .map(
            cublas ->
                new DeviceFactorizer(
                    new Engine(
                        device,
                        transposer,
                        cusolver.get(),
                        cublas,
                        device.newPinnedPool(KEPT_STAGING_BYTES)),
                    (bytes, work) -> work.run()));
  }

  /** A view of this factorizer whose calls use memory within {@code newRoom}; closed with this. */
  public DeviceFactorizer within(Room newRoom) {
    return new DeviceFactorizer(engine, newRoom);
  }

  /** The version of cuSOLVER, such as 11.7.5. */
  public String version() {
    return engine.cusolver().version();
  }

  // ---- one call

  /**
   * Runs the steps of one call.
   *
   * @param asked the work areas
   * @param doubles numbers of 8 bytes in the buffers that the steps take
   * @param longest length of the longest vector
   */
  private void run(Function<Session, Areas> asked, long doubles, int longest, Consumer<Run> steps) {
    try (Session session = engine.cusolver().session()) {
      Areas areas = asked.apply(session);
      long bytes =
          (doubles + 2L * longest) * Double.BYTES
              + Session.deviceBytes(areas)
              + Cublas.WORKSPACE_BYTES
              + ROUNDING_BYTES;
      long stagingBytes = Math.min(STAGING_BYTES, Math.max(doubles, longest) * Double.BYTES);
      room.use(
          bytes,
          () -> {
            try (PinnedBuffer first = engine.staging().take(stagingBytes);
                PinnedBuffer second = engine.staging().take(stagingBytes);
                CudaStream stream = engine.device().newStream();
                Run run = new Run(session, stream, new PinnedBuffer[] {first, second})) {
              run.begin(areas, longest);
              steps.accept(run);
            }
          });
    } catch (ResourceException | UnsupportedOperationException e) {
      throw new RefusedException(e);
    } catch (CudaFailure e) {
      if (e.isSticky()) {
        throw e;
      }
      throw new RefusedException(e);
    }
  }

  /** The stream and the buffers of one call; closing it closes them. */
  private final class Run implements AutoCloseable {
    private final Session session;
    private final CudaStream stream;
    private final PinnedBuffer[] pinned;
    private final Deque<DeviceBuffer> owned = new ArrayDeque<>(); // the last first
    private DeviceBuffer area;
    private DeviceBuffer blasArea;
    private DeviceBuffer in; // a vector
    private DeviceBuffer out; // another one

    Run(Session session, CudaStream stream, PinnedBuffer[] pinned) {
      this.session = session;
      this.stream = stream;
      this.pinned = pinned;
    }

    void begin(Areas areas, int longest) {
      area = bytes(Session.deviceBytes(areas));
      blasArea = bytes(Cublas.WORKSPACE_BYTES);
      in = doubles(longest);
      out = doubles(longest);
      session.begin(stream, area, areas);
    }

    private DeviceBuffer bytes(long bytes) {
      DeviceBuffer made = engine.device().allocate(bytes, stream);
      owned.push(made);
      return made;
    }

    DeviceBuffer doubles(long count) {
      return bytes(Math.multiplyExact(count, (long) Double.BYTES));
    }

    void upload(HostMemory from, DeviceBuffer to) {
      RowTransfer.whole(from.bytes()).upload(from, to, stream, pinned);
    }

    /** Fills {@code to} from the start of {@code from}; done on return. */
    void download(DeviceBuffer from, HostMemory to) {
      RowTransfer.whole(to.bytes()).download(from, to, stream, pinned);
    }

    double[] download(DeviceBuffer from, int count) {
      double[] values = new double[count];
      download(from, HostMemory.ofArray(values));
      return values;
    }

    /** Queues the transposition of {@code from} (rows, cols), row-major. */
    void transpose(int rows, int cols, DeviceBuffer from, DeviceBuffer to) {
      TransposeProblem problem =
          new TransposeProblem(Shape.of(rows, cols), Permutation.of(1, 0), Double.BYTES);
      engine.transposer().enqueue(problem, from, 0, to, 0, stream);
    }

    /**
     * Waits for a routine and returns its {@code info}, which is 0 or more.
     *
     * @throws RefusedException if the routine did not accept an argument
     */
    int info(String routine) {
      long[] word = new long[1];
      RowTransfer.whole(Long.BYTES)
          .download(area, session.infoPlace(), HostMemory.ofArray(word), stream, pinned);
      int info = (int) word[0]; // the low half
      if (info < 0) {
        throw new RefusedException(
            "Argument %d of cuSOLVER's %s is wrong; please report this".formatted(-info, routine));
      }
      return info;
    }

    /**
     * Waits for an iteration.
     *
     * @throws RefusedException if it did not converge
     */
    void requireConverged(String routine) {
      int info = info(routine);
      if (info != 0) {
        throw new RefusedException(
            "cuSOLVER's %s did not converge (info %d)".formatted(routine, info));
      }
    }

    /** The elements of the diagonal of (n, n). */
    double[] diagonal(int n, DeviceBuffer matrix) {
      double[] values = new double[n];
      HostMemory to = HostMemory.ofArray(values);
      HostMemory buffer = pinned[0].memory().slice(0, to.bytes());
      stream.downloadRows(
          matrix, 0, (n + 1L) * Double.BYTES, buffer, Double.BYTES, Double.BYTES, n);
      stream.synchronize();
      buffer.copyTo(to);
      return values;
    }

    /** The product of a column-major matrix of (rows, cols) and a vector. */
    double[] times(DeviceBuffer matrix, int rows, int cols, double[] x) {
      return product(LibCublas.CUBLAS_OP_N, matrix, rows, cols, x);
    }

    /** The product of its transpose and a vector. */
    double[] transposeTimes(DeviceBuffer matrix, int rows, int cols, double[] x) {
      return product(LibCublas.CUBLAS_OP_T, matrix, rows, cols, x);
    }

    private double[] product(int operation, DeviceBuffer matrix, int rows, int cols, double[] x) {
      upload(HostMemory.ofArray(x), in);
      long a = address(matrix, (long) rows * cols);
      engine
          .cublas()
          .enqueue(
              "cublasDgemv",
              (handle, one, zero) ->
                  LibCublas.cublasDgemv_v2_64(
                      handle,
                      operation,
                      rows,
                      cols,
                      one,
                      a,
                      rows,
                      address(in, Math.max(rows, cols)),
                      1,
                      zero,
                      address(out, Math.max(rows, cols)),
                      1),
              blasArea,
              stream);
      return download(out, operation == LibCublas.CUBLAS_OP_N ? rows : cols);
    }

    /** The product of a symmetric matrix (n, n), whose upper triangle is read, and a vector. */
    double[] symmetricTimes(DeviceBuffer matrix, int n, double[] x) {
      upload(HostMemory.ofArray(x), in);
      long a = address(matrix, (long) n * n);
      engine
          .cublas()
          .enqueue(
              "cublasDsymv",
              (handle, one, zero) ->
                  LibCublas.cublasDsymv_v2_64(
                      handle,
                      LibCublas.CUBLAS_FILL_MODE_UPPER,
                      n,
                      one,
                      a,
                      n,
                      address(in, n),
                      1,
                      zero,
                      address(out, n),
                      1),
              blasArea,
              stream);
      return download(out, n);
    }

    /** Queues the solution of a triangular system in place of {@code b} (n, sides), row-major. */
    void solve(Triangle triangle, int n, int sides, DeviceBuffer t, DeviceBuffer b) {
      long matrix = address(t, (long) n * n);
      long right = address(b, (long) n * sides);
      // X^T op(T)^T = B^T, where BLAS sees T^T, B^T and X^T.
      engine
          .cublas()
          .enqueue(
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
                      matrix,
                      n,
                      right,
                      sides),
              blasArea,
              stream);
    }

    private long address(DeviceBuffer buffer, long count) {
      return buffer.address(engine.device(), 0, Math.multiplyExact(count, (long) Double.BYTES));
    }

    /**
     * Checks that columns are orthonormal.
     *
     * @param matrix column-major (rows, cols)
     */
    void requireOrthonormal(String what, DeviceBuffer matrix, int rows, int cols) {
      double[] x = random(cols);
      double[] found = transposeTimes(matrix, rows, cols, times(matrix, rows, cols, x));
      requireNear(what, x, found, ALLOWED * Math.max(rows, cols) * EPSILON);
    }

    @Override
    public void close() {
      while (!owned.isEmpty()) {
        owned.pop().close();
      }
    }
  }

  // ---- checks

  /**
   * Numbers between -1 and 1, the same in each call, so that a matrix is always or never refused.
   */
  private static double[] random(int count) {
    return new SplittableRandom(SEED).doubles(count, -1, 1).toArray();
  }

  /** Checks a length; false for NaN, too. */
  private static void requireNear(String what, double[] expected, double[] found, double allowed) {
    double squares = 0;
    for (int i = 0; i < expected.length; i++) {
      double difference = expected[i] - found[i];
      squares += difference * difference;
    }
    double error = Math.sqrt(squares);
    if (!(error <= allowed)) {
      throw new RefusedException(
          "cuSOLVER's %s err by %.3g; expected up to %.3g".formatted(what, error, allowed));
    }
  }

  /**
   * Checks that the sum of squares of singular values or eigenvalues is that of the matrix's
   * elements.
   */
  private static void requireNorm(String what, HostMemory values, double norm, int longest) {
    double squares = 0;
    for (long i = 0; i < values.bytes() / Double.BYTES; i++) {
      double value = FactorSizes.get(values, i);
      squares += value * value;
    }
    double[] expected = {norm};
    double[] found = {Math.sqrt(squares)};
    requireNear(what, expected, found, ALLOWED * longest * EPSILON * norm);
  }

  private static void requireFinite(String what, double[] values) {
    for (double value : values) {
      if (!(Math.abs(value) <= Double.MAX_VALUE)) {
        throw new RefusedException(
            "cuSOLVER's %s have elements that are not finite".formatted(what));
      }
    }
  }

  private static double moderate(Magnitudes sizes) {
    if (!sizes.areModerate()) {
      throw new RefusedException(
          "The matrix has columns whose largest element is above 2^400 or below 2^-400, which"
              + " cuSOLVER might not do exactly");
    }
    return sizes.norm();
  }

  private static double allowed(int rows, int cols, double norm) {
    return ALLOWED * Math.max(rows, cols) * EPSILON * norm;
  }

  // ---- QR

  @Override
  public void qrR(int rows, int cols, HostMemory a, HostMemory r) {
    qr(rows, cols, a, Optional.empty(), r); // which makes Q, since R is looked at with it
  }

  @Override
  public void qr(int rows, int cols, HostMemory a, HostMemory q, HostMemory r) {
    FactorSizes.require("Q", q, rows, Math.min(rows, cols));
    qr(rows, cols, a, Optional.of(q), r);
  }

  private void qr(int rows, int cols, HostMemory a, Optional<HostMemory> q, HostMemory r) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("R", r, small, cols);
    if (small == 0) {
      return;
    }
    double norm = moderate(Magnitudes.of(rows, cols, a));
    long elements = (long) rows * cols;
    run(
        session -> session.geqrf(rows, cols).max(session.orgqr(rows, small)),
        2 * elements + small,
        Math.max(rows, cols),
        run -> {
          DeviceBuffer rowMajor = run.doubles(elements); // (rows, cols)
          DeviceBuffer matrix = run.doubles(elements); // (rows, cols), column-major
          DeviceBuffer tau = run.doubles(small);
          run.upload(a, rowMajor);
          run.transpose(rows, cols, rowMajor, matrix);
          double[] x = random(cols);
          double[] expected = run.times(matrix, rows, cols, x);
          run.session.geqrf(rows, cols, matrix, tau);
          run.info("geqrf");
          run.transpose(cols, rows, matrix, rowMajor);
          run.download(rowMajor, r); // its first rows
          FactorSizes.clear(true, small, cols, r);
          run.session.orgqr(rows, small, matrix, tau);
          run.info("orgqr");
          double[] found = run.times(matrix, rows, small, upperTimes(small, cols, r, x));
          requireNear("factors QR", expected, found, allowed(rows, cols, norm));
          run.requireOrthonormal("columns of Q", matrix, rows, small);
          if (q.isPresent()) {
            run.transpose(small, rows, matrix, rowMajor);
            run.download(rowMajor, q.get());
          }
        });
  }

  private static double[] upperTimes(int rows, int cols, HostMemory r, double[] x) {
    double[] product = new double[rows];
    for (int i = 0; i < rows; i++) {
      for (int j = i; j < cols; j++) {
        product[i] += FactorSizes.get(r, (long) i * cols + j) * x[j];
      }
    }
    return product;
  }

  // ---- singular values

  @Override
  public void svdvals(int rows, int cols, HostMemory a, HostMemory s) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("s", s, small);
    if (small == 0) {
      return;
    }
    int longest = Math.max(rows, cols);
    double norm = moderate(Magnitudes.of(rows, cols, a));
    long elements = (long) rows * cols;
    run(
        session -> session.gesvd('N', longest, small),
        (rows > cols ? 2 : 1) * elements + small,
        longest,
        run -> {
          DeviceBuffer matrix = run.doubles(elements); // (longest, small), column-major
          DeviceBuffer values = run.doubles(small);
          if (rows > cols) {
            DeviceBuffer rowMajor = run.doubles(elements);
            run.upload(a, rowMajor);
            run.transpose(rows, cols, rowMajor, matrix);
          } else {
            run.upload(a, matrix);
          }
          run.session.gesvd('N', longest, small, matrix, values, matrix, matrix);
          run.requireConverged("gesvd");
          run.download(values, s);
          requireNorm("singular values", s, norm, longest);
        });
  }

  /**
   * {@inheritDoc}
   *
   * <p>By gesvd, the QR iteration, whose errors are those of LAPACK's. gesvdp, which is faster,
   * disturbs matrices that are nearly singular.
   */
  @Override
  public void svd(int rows, int cols, HostMemory a, HostMemory u, HostMemory s, HostMemory vt) {
    int small = Math.min(rows, cols);
    FactorSizes.require("A", a, rows, cols);
    FactorSizes.require("U", u, rows, small);
    FactorSizes.require("s", s, small);
    FactorSizes.require("Vt", vt, small, cols);
    if (small == 0) {
      return;
    }
    int longest = Math.max(rows, cols);
    double norm = moderate(Magnitudes.of(rows, cols, a));
    long elements = (long) rows * cols;
    long square = (long) small * small;
    run(
        session -> session.gesvd('S', longest, small),
        2 * elements + square + small,
        longest,
        run -> {
          // Column-major: M = L diag(s) R, where M is A if that is tall, else its transpose.
          DeviceBuffer matrix = run.doubles(elements); // M (longest, small)
          DeviceBuffer left = run.doubles(elements); // L (longest, small)
          DeviceBuffer right = run.doubles(square); // R (small, small)
          DeviceBuffer values = run.doubles(small);
          if (rows > cols) {
            run.upload(a, left);
            run.transpose(rows, cols, left, matrix);
          } else {
            run.upload(a, matrix);
          }
          double[] x = random(small);
          double[] expected = run.times(matrix, longest, small, x);
          run.session.gesvd('S', longest, small, matrix, values, left, right);
          run.requireConverged("gesvd");
          run.download(values, s);
          double[] scaled = run.times(right, small, small, x);
          for (int i = 0; i < small; i++) {
            scaled[i] *= FactorSizes.get(s, i);
          }
          double[] found = run.times(left, longest, small, scaled);
          requireNear("singular vectors", expected, found, allowed(rows, cols, norm));
          run.requireOrthonormal("left singular vectors", left, longest, small);
          run.requireOrthonormal("right singular vectors", right, small, small);
          if (rows > cols) {
            run.transpose(small, longest, left, matrix);
            run.download(matrix, u);
            run.transpose(small, small, right, left);
            run.download(left, vt);
          } else {
            run.download(right, u);
            run.download(left, vt);
          }
        });
  }

  // ---- eigenvalues

  @Override
  public void eigvalsh(int n, HostMemory a, HostMemory values) {
    FactorSizes.require("A", a, n, n);
    FactorSizes.require("values", values, n);
    if (n == 0) {
      return;
    }
    double norm = moderate(Magnitudes.ofSymmetric(n, a));
    int job = LibCusolver.CUSOLVER_EIG_MODE_NOVECTOR;
    run(
        session -> session.syevd(job, n),
        (long) n * n + n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          DeviceBuffer found = run.doubles(n);
          run.upload(a, matrix);
          run.session.syevd(job, n, matrix, found);
          run.requireConverged("syevd");
          run.download(found, values);
          requireNorm("eigenvalues", values, norm, n);
        });
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
    double norm = moderate(Magnitudes.ofSymmetric(n, a));
    int job = LibCusolver.CUSOLVER_EIG_MODE_VECTOR;
    run(
        session -> k < n ? session.syevdx(n, k) : session.syevd(job, n),
        (long) n * n + (long) n * k + n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          DeviceBuffer rowMajor = run.doubles((long) n * k);
          DeviceBuffer found = run.doubles(n);
          run.upload(a, matrix);
          double[] x = random(n);
          double[] product = run.symmetricTimes(matrix, n, x);
          if (k < n) {
            long count = run.session.syevdx(n, k, matrix, found);
            run.requireConverged("syevdx");
            if (count != k) {
              throw new RefusedException(
                  "cuSOLVER's syevdx found %d eigenvalues of %d".formatted(count, k));
            }
          } else {
            run.session.syevd(job, n, matrix, found);
            run.requireConverged("syevd");
          }
          run.download(found, values); // the first k
          // V^T (A x) = diag(values) (V^T x).
          double[] ofProduct = run.transposeTimes(matrix, n, k, product);
          double[] scaled = run.transposeTimes(matrix, n, k, x);
          for (int i = 0; i < k; i++) {
            scaled[i] *= FactorSizes.get(values, i);
          }
          requireNear("eigenvectors", scaled, ofProduct, allowed(n, n, norm));
          run.requireOrthonormal("eigenvectors", matrix, n, k);
          run.transpose(k, n, matrix, rowMajor);
          run.download(rowMajor, vectors);
        });
  }

  // ---- linear equations

  @Override
  public void cholesky(int n, HostMemory a) {
    FactorSizes.require("A", a, n, n);
    if (n == 0) {
      return;
    }
    run(
        session -> session.potrf(n),
        (long) n * n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          run.upload(a, matrix);
          run.session.potrf(n, matrix);
          int info = run.info("potrf");
          if (info > 0) {
            throw new NotPositiveDefiniteException(info, n);
          }
          requireFinite("Cholesky factors", run.diagonal(n, matrix));
          run.download(matrix, a);
          FactorSizes.clear(false, n, n, a);
        });
  }

  @Override
  public void lu(int n, HostMemory a, int[] pivots) {
    FactorSizes.require("A", a, n, n);
    FactorSizes.requirePivots(n, pivots);
    if (n == 0) {
      return;
    }
    run(
        session -> session.getrf(n),
        (long) n * n + n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          DeviceBuffer places = run.doubles(n); // longs
          run.upload(a, matrix);
          run.session.getrf(n, matrix, places);
          run.info("getrf"); // above 0 for a singular matrix, which has factors
          requireFinite("LU factors", run.diagonal(n, matrix));
          long[] found = new long[n];
          run.download(places, HostMemory.ofArray(found));
          for (int i = 0; i < n; i++) {
            if (found[i] <= i || found[i] > n) {
              throw new RefusedException(
                  "cuSOLVER's getrf exchanges column %d with %d".formatted(i + 1, found[i]));
            }
            pivots[i] = (int) found[i];
          }
          run.download(matrix, a);
        });
  }

  @Override
  public void solveTriangular(
      Triangle triangle, int n, int rightSides, HostMemory t, HostMemory b) {
    solve(n, rightSides, t, b, List.of(triangle));
  }

  @Override
  public void solveLu(int n, int rightSides, HostMemory lu, int[] pivots, HostMemory b) {
    FactorSizes.requirePivots(n, pivots);
    solve(n, rightSides, lu, b, List.of(Triangle.LOWER, Triangle.UNIT_UPPER));
    FactorSizes.exchangeBack(n, rightSides, pivots, b);
  }

  @Override
  public void solvePositiveDefinite(int n, int rightSides, HostMemory lower, HostMemory b) {
    solve(n, rightSides, lower, b, List.of(Triangle.LOWER, Triangle.LOWER_TRANSPOSED));
  }

  /** Solves with one triangle of a matrix after the other. */
  private void solve(int n, int rightSides, HostMemory t, HostMemory b, List<Triangle> triangles) {
    FactorSizes.require("T", t, n, n);
    FactorSizes.require("B", b, n, rightSides);
    triangles.forEach(triangle -> FactorSizes.requireRegular(triangle, n, t));
    if (n == 0 || rightSides == 0) {
      return;
    }
    run(
        session -> Areas.NONE,
        (long) n * n + (long) n * rightSides,
        Math.max(n, rightSides),
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          DeviceBuffer sides = run.doubles((long) n * rightSides);
          run.upload(t, matrix);
          run.upload(b, sides);
          triangles.forEach(triangle -> run.solve(triangle, n, rightSides, matrix, sides));
          run.download(sides, b);
        });
  }

  /** Frees cuSOLVER's and cuBLAS's handles and the staging buffers; the device stays open. */
  @Override
  public void close() {
    engine.cusolver().close();
    engine.cublas().close();
    engine.staging().close();
  }

  @Override
  public String toString() {
    return "device factorizer (cuSOLVER) on " + engine.device().description();
  }
}
