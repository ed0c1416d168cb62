package org.tilespark.kernels.device;

import com.sun.jna.ptr.LongByReference;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.tilespark.kernels.ResourceException;
import org.tilespark.kernels.device.Cusolver.Areas;
import org.tilespark.kernels.device.Cusolver.Session;
import org.tilespark.kernels.device.library.CusolverRoutine;
import org.tilespark.kernels.device.library.LibCublas;
import org.tilespark.kernels.device.library.LibCusolver;
import org.tilespark.kernels.factor.FactorChecks;
import org.tilespark.kernels.factor.FactorSizes;
import org.tilespark.kernels.factor.Factorizer;
import org.tilespark.kernels.factor.Magnitudes;
import org.tilespark.kernels.factor.NotPositiveDefiniteException;
import org.tilespark.kernels.factor.RefusedException;
import org.tilespark.kernels.factor.Triangle;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;

/**
 * Factorises on a device, by cuSOLVER. A call uploads a matrix and downloads its factors; the
 * device holds neither between two calls. Safe for several threads.
 *
 * <p>cuSOLVER's matrices are column-major. Where the transpose has the wanted factors, it gets the
 * row-major matrix as it is, which it reads as the transpose; otherwise the device transposes.
 *
 * <p>All methods throw a {@link RefusedException}, with operands as they were, if the device or its
 * library cannot do a matrix: there is no memory, a call fails, an iteration does not converge, the
 * elements are so large or small that their squares might overflow or vanish, or the factors are
 * not those of the matrix. That is looked at with a random vector x: whether Q (R x) is A x, and
 * Q^T (Q x) is x ({@link FactorChecks}). It takes a few passes over the matrix.
 */
public final class DeviceFactorizer implements Factorizer {
  /**
   * Shorter side from which factorising on a device is worth the copies. Panels of 32 columns are
   * launched one after the other, so a matrix of few panels leaves most of the device idle. An
   * estimate, until {@code dev/bench factors --cases device} has measured it.
   */
  public static final int LEAST_SIDE = 512;

  /**
   * Bytes of each of the two pinned buffers through which heap arrays are copied: one is filled
   * while the other is copied.
   */
  private static final long STAGING_BYTES = 8L << 20;

  /** Bytes of unused staging buffers that are kept between calls. */
  private static final long KEPT_STAGING_BYTES = 4 * STAGING_BYTES;

  /**
   * Bytes by which a call's buffers may be larger than asked for: the device rounds each up to
   * whole 256 bytes, and a call has fewer than ten.
   */
  private static final long ROUNDING_BYTES = 10 * 256;

  private final Engine engine;
  private final Room room;

  /** Lends a call the use of device memory. */
  @FunctionalInterface
  public interface Room {
    /**
     * Runs work on this thread while the work may hold {@code bytes} of the device's memory.
     *
     * @throws ResourceException if this memory is not free; then the work has not begun
     */
    void use(long bytes, Runnable work);
  }

  /** Resources that all calls share. */
  record Engine(
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
   * @param device borrowed, as is {@code transposer}; must stay open longer than the factorizer
   * @param libraryPath directories where to look when the system's loader does not know the
   *     libraries
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

  /**
   * The file of cuSOLVER on this machine; or why cuSOLVER or cuBLAS is missing, and what helps.
   * Opens no device, but a driver must be there, as {@link DeviceProbe} finds it.
   *
   * @param libraryPath as for {@link #find}
   */
  public static Availability<String> library(List<Path> libraryPath) {
    Availability<String> cublas = LibCublas.load(libraryPath);
    return cublas.isPresent() ? LibCusolver.load(libraryPath) : cublas;
  }

  /**
   * This factorizer, whose calls use memory as {@code newRoom} lets them; closed with this object.
   */
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
   * @param routines the routines that the steps call
   * @param doubles how many numbers of 8 bytes the buffers hold that the steps take
   * @param longest length of the longest vector that the steps multiply by
   */
  private void run(
      List<CusolverRoutine> routines, long doubles, int longest, Consumer<FactorRun> steps) {
    try (Session session = engine.cusolver().session()) {
      Areas areas = routines.stream().map(session::areas).reduce(Areas.NONE, Areas::max);
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
                FactorRun run =
                    new FactorRun(engine, session, stream, new PinnedBuffer[] {first, second})) {
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

  // ---- QR

  @Override
  public void qrR(int rows, int cols, HostMemory a, HostMemory r) {
    qr(rows, cols, a, Optional.empty(), r); // Q too, to check R
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
    double norm = FactorChecks.moderate(Magnitudes.of(rows, cols, a));
    long elements = (long) rows * cols;
    CusolverRoutine geqrf = CusolverRoutine.geqrf(rows, cols);
    CusolverRoutine orgqr = CusolverRoutine.orgqr(rows, small);
    run(
        List.of(geqrf, orgqr),
        2 * elements + small,
        Math.max(rows, cols),
        run -> {
          DeviceBuffer rowMajor = run.doubles(elements); // (rows, cols)
          DeviceBuffer matrix = run.doubles(elements); // (rows, cols), column-major
          DeviceBuffer tau = run.doubles(small);
          run.upload(a, rowMajor);
          run.transpose(rows, cols, rowMajor, matrix);
          double[] x = FactorChecks.random(cols);
          double[] expected = run.times(matrix, rows, cols, x);
          run.call(geqrf, matrix, tau);
          run.transpose(cols, rows, matrix, rowMajor);
          run.download(rowMajor, r); // the first rows are R
          FactorSizes.clear(true, small, cols, r);
          run.call(orgqr, matrix, tau);
          double[] found =
              run.times(matrix, rows, small, FactorChecks.upperTimes(small, cols, r, x));
          FactorChecks.requireNear(
              "factors QR", expected, found, FactorChecks.allowed(rows, cols, norm));
          run.requireOrthonormal("columns of Q", matrix, rows, small);
          if (q.isPresent()) {
            run.transpose(small, rows, matrix, rowMajor);
            run.download(rowMajor, q.get());
          }
        });
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
    double norm = FactorChecks.moderate(Magnitudes.of(rows, cols, a));
    long elements = (long) rows * cols;
    CusolverRoutine gesvd = CusolverRoutine.gesvdValues(longest, small);
    run(
        List.of(gesvd),
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
          run.converge(gesvd, matrix, values);
          run.download(values, s);
          FactorChecks.requireNorm("singular values", s, norm, longest);
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
    double norm = FactorChecks.moderate(Magnitudes.of(rows, cols, a));
    long elements = (long) rows * cols;
    long square = (long) small * small;
    CusolverRoutine gesvd = CusolverRoutine.gesvd(longest, small);
    run(
        List.of(gesvd),
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
          double[] x = FactorChecks.random(small);
          double[] expected = run.times(matrix, longest, small, x);
          run.converge(gesvd, matrix, values, left, right);
          run.download(values, s);
          double[] scaled = run.times(right, small, small, x);
          for (int i = 0; i < small; i++) {
            scaled[i] *= FactorSizes.get(s, i);
          }
          double[] found = run.times(left, longest, small, scaled);
          FactorChecks.requireNear(
              "singular vectors", expected, found, FactorChecks.allowed(rows, cols, norm));
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
    double norm = FactorChecks.moderate(Magnitudes.ofSymmetric(n, a));
    CusolverRoutine syevd = CusolverRoutine.syevd(LibCusolver.CUSOLVER_EIG_MODE_NOVECTOR, n);
    run(
        List.of(syevd),
        (long) n * n + n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          DeviceBuffer found = run.doubles(n);
          run.upload(a, matrix);
          run.converge(syevd, matrix, found);
          run.download(found, values);
          FactorChecks.requireNorm("eigenvalues", values, norm, n);
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
    double norm = FactorChecks.moderate(Magnitudes.ofSymmetric(n, a));
    LongByReference count = new LongByReference(n);
    CusolverRoutine routine =
        k < n
            ? CusolverRoutine.syevdx(n, k, count)
            : CusolverRoutine.syevd(LibCusolver.CUSOLVER_EIG_MODE_VECTOR, n);
    run(
        List.of(routine),
        (long) n * n + (long) n * k + n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          DeviceBuffer rowMajor = run.doubles((long) n * k);
          DeviceBuffer found = run.doubles(n);
          run.upload(a, matrix);
          double[] x = FactorChecks.random(n);
          double[] product = run.symmetricTimes(matrix, n, x);
          run.converge(routine, matrix, found);
          if (count.getValue() != k) {
            throw new RefusedException(
                "cuSOLVER's %s found %d eigenvalues of %d"
                    .formatted(routine.name(), count.getValue(), k));
          }
          run.download(found, values); // the first k values
          // V^T (A x) = diag(values) (V^T x).
          double[] ofProduct = run.transposeTimes(matrix, n, k, product);
          double[] scaled = run.transposeTimes(matrix, n, k, x);
          for (int i = 0; i < k; i++) {
            scaled[i] *= FactorSizes.get(values, i);
          }
          FactorChecks.requireNear(
              "eigenvectors", scaled, ofProduct, FactorChecks.allowed(n, n, norm));
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
    CusolverRoutine potrf = CusolverRoutine.potrf(n);
    run(
        List.of(potrf),
        (long) n * n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          run.upload(a, matrix);
          int info = run.call(potrf, matrix);
          if (info > 0) {
            throw new NotPositiveDefiniteException(info, n);
          }
          FactorChecks.requireFinite("Cholesky factors", run.diagonal(n, matrix));
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
    CusolverRoutine getrf = CusolverRoutine.getrf(n);
    run(
        List.of(getrf),
        (long) n * n + n,
        n,
        run -> {
          DeviceBuffer matrix = run.doubles((long) n * n);
          DeviceBuffer places = run.doubles(n); // n pivots, as longs
          run.upload(a, matrix);
          run.call(
              getrf, matrix, places); // info is above 0 for a singular matrix, which has factors
          FactorChecks.requireFinite("LU factors", run.diagonal(n, matrix));
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
        List.of(),
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
