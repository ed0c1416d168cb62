package org.tilespark.kernels.device;

import java.util.ArrayDeque;
import java.util.Deque;
import org.tilespark.kernels.device.Cusolver.Areas;
import org.tilespark.kernels.device.Cusolver.Session;
import org.tilespark.kernels.device.DeviceFactorizer.Engine;
import org.tilespark.kernels.device.library.CublasCall;
import org.tilespark.kernels.device.library.CusolverRoutine;
import org.tilespark.kernels.device.library.LibCublas;
import org.tilespark.kernels.factor.FactorChecks;
import org.tilespark.kernels.factor.RefusedException;
import org.tilespark.kernels.factor.Triangle;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;

/**
 * A call of a {@link DeviceFactorizer}: its stream, and its buffers, which are closed with it. For
 * one thread.
 */
final class FactorRun implements AutoCloseable {
  private final Engine engine; // borrowed, as are the next three
  private final Session session;
  private final CudaStream stream;
  private final PinnedBuffer[] pinned;
  private final Deque<DeviceBuffer> owned = new ArrayDeque<>(); // the last one first
  private DeviceBuffer area;
  private DeviceBuffer blasArea;
  private DeviceBuffer in; // vector that a product reads
  private DeviceBuffer out; // vector that a product writes

  FactorRun(Engine engine, Session session, CudaStream stream, PinnedBuffer[] pinned) {
    this.engine = engine;
    this.session = session;
    this.stream = stream;
    this.pinned = pinned;
  }

  /**
   * Allocates the work areas of cuSOLVER and cuBLAS, and two vectors.
   *
   * @param longest length of the longest vector
   */
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

  /** Queues a copy of {@code from} (rows, cols), row-major, transposed into {@code to}. */
  void transpose(int rows, int cols, DeviceBuffer from, DeviceBuffer to) {
    TransposeProblem problem =
        new TransposeProblem(Shape.of(rows, cols), Permutation.of(1, 0), Double.BYTES);
    engine.transposer().enqueue(problem, from, 0, to, 0, stream);
  }

  /**
   * Runs a routine; done on return.
   *
   * @return its {@code info}, 0 or more
   * @throws RefusedException if the routine did not accept an argument
   */
  int call(CusolverRoutine routine, DeviceBuffer... operands) {
    session.queue(routine, operands);
    long[] word = new long[1];
    RowTransfer.whole(Long.BYTES)
        .download(area, session.infoPlace(), HostMemory.ofArray(word), stream, pinned);
    int info = (int) word[0]; // the low half of the word
    if (info < 0) {
      throw new RefusedException(
          "Argument %d of cuSOLVER's %s is wrong; please report this"
              .formatted(-info, routine.name()));
    }
    return info;
  }

  /**
   * Runs a routine that iterates; done on return.
   *
   * @throws RefusedException also if the iteration did not converge
   */
  void converge(CusolverRoutine routine, DeviceBuffer... operands) {
    int info = call(routine, operands);
    if (info != 0) {
      throw new RefusedException(
          "cuSOLVER's %s did not converge (info %d)".formatted(routine.name(), info));
    }
  }

  /** The diagonal of a matrix (n, n). */
  double[] diagonal(int n, DeviceBuffer matrix) {
    double[] values = new double[n];
    HostMemory to = HostMemory.ofArray(values);
    HostMemory buffer = pinned[0].memory().slice(0, to.bytes());
    stream.downloadRows(matrix, 0, (n + 1L) * Double.BYTES, buffer, Double.BYTES, Double.BYTES, n);
    stream.synchronize();
    buffer.copyTo(to);
    return values;
  }

  /** The product of a column-major matrix (rows, cols) and a vector. */
  double[] times(DeviceBuffer matrix, int rows, int cols, double[] x) {
    return product(LibCublas.CUBLAS_OP_N, matrix, rows, cols, x);
  }

  /** The product of the transpose of a column-major matrix (rows, cols) and a vector. */
  double[] transposeTimes(DeviceBuffer matrix, int rows, int cols, double[] x) {
    return product(LibCublas.CUBLAS_OP_T, matrix, rows, cols, x);
  }

  private double[] product(int operation, DeviceBuffer matrix, int rows, int cols, double[] x) {
    int longest = Math.max(rows, cols);
    long a = address(matrix, (long) rows * cols);
    return product(
        CublasCall.gemv(operation, rows, cols, a, address(in, longest), address(out, longest)),
        x,
        operation == LibCublas.CUBLAS_OP_N ? rows : cols);
  }

  /** The product of a symmetric matrix (n, n), whose upper triangle is read, and a vector. */
  double[] symmetricTimes(DeviceBuffer matrix, int n, double[] x) {
    long a = address(matrix, (long) n * n);
    return product(CublasCall.symv(n, a, address(in, n), address(out, n)), x, n);
  }

  private double[] product(CublasCall call, double[] x, int length) {
    upload(HostMemory.ofArray(x), in);
    engine.cublas().enqueue(call, blasArea, stream);
    return download(out, length);
  }

  /**
   * Queues a solve of the triangular system of {@code t} (n, n) in place of {@code b} (n, sides),
   * row-major.
   */
  void solve(Triangle triangle, int n, int sides, DeviceBuffer t, DeviceBuffer b) {
    long matrix = address(t, (long) n * n);
    long right = address(b, (long) n * sides);
    engine.cublas().enqueue(CublasCall.trsm(triangle, n, sides, matrix, right), blasArea, stream);
  }

  private long address(DeviceBuffer buffer, long count) {
    return buffer.address(engine.device(), 0, Math.multiplyExact(count, (long) Double.BYTES));
  }

  /**
   * Checks that a matrix's columns are orthonormal.
   *
   * @param matrix column-major (rows, cols)
   */
  void requireOrthonormal(String what, DeviceBuffer matrix, int rows, int cols) {
    double[] x = FactorChecks.random(cols);
    double[] found = transposeTimes(matrix, rows, cols, times(matrix, rows, cols, x));
    FactorChecks.requireNear(what, x, found, FactorChecks.allowed(rows, cols, 1));
  }

  @Override
  public void close() {
    while (!owned.isEmpty()) {
      owned.pop().close();
    }
  }
}
