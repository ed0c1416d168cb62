package org.tilespark.kernels.host.engine;

import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.tilespark.kernels.host.HostMultiplier;
import org.tilespark.kernels.host.NanSearch;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;

/**
 * Multiplies on the CPU with the machine's OpenBLAS, on the calling thread alone.
 *
 * <p>A call of OpenBLAS sums in one chain, so it is called once for each {@code 2 sqrt(K)} steps of
 * K, or for {@value #GOOD_CHUNK} if that is more: the error of an element stays within {@code 2 u
 * sqrt(K) |A||B|}, as {@link HostMultiplier}'s does. As there, rows of FLOAT whose sums are not
 * finite are computed again, with sums in double where the new sums are not finite either. An
 * element's bits may depend on the tile it is computed in, on the machine and on the library; the
 * same call gives the same bits.
 *
 * <p>{@link HostMultiplier} computes the rest: matrices on the heap, precisions below full, and
 * calls beyond the number that the library can serve at once.
 *
 * <p>Safe for several threads. A call with FLOAT that adds to C keeps a copy of {@value #ROWS} rows
 * of C.
 */
public final class OpenblasMultiplier implements Multiplier {
  /**
   * The least number of steps of K in one call. Each call reads and writes C; with more steps, the
   * share of that cost hardly shrinks.
   */
  private static final long GOOD_CHUNK = 32;

  /** Rows of C of type FLOAT that are checked, and computed again, together. */
  private static final long ROWS = 512;

  /**
   * The largest number of elements of C that are checked together; if a row is longer, OpenBLAS is
   * not used.
   */
  private static final long MOST_COPIED = 1 << 22;

  private final LibOpenblas.Loaded library;
  private final HostMultiplier own = new HostMultiplier();
  private final Semaphore callers;
  private final Queue<float[]> copies = new ConcurrentLinkedQueue<>();

  /** A multiplier with a library that is loaded. */
  OpenblasMultiplier(LibOpenblas.Loaded library) {
    this.library = library;
    this.callers = library.callers();
  }

  /**
   * A multiplier that uses this machine's OpenBLAS.
   *
   * @param directories directories to look into when the system's loader does not know the library
   * @return the multiplier, or why there is none, and what helps
   */
  public static Availability<OpenblasMultiplier> find(List<Path> directories) {
    return LibOpenblas.load(directories).map(OpenblasMultiplier::new);
  }

  /** The file that the library was loaded from, as the system's loader or the user names it. */
  public String library() {
    return library.file();
  }

  @Override
  public void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
    problem.requireBytes(a.bytes(), b.bytes(), c.bytes());
    if (!serves(problem, a, b, c) || !callers.tryAcquire()) {
      own.multiply(problem, a, b, c);
      return;
    }
    try {
      forEach(problem, a, b, c, this::multiplyOne);
    } finally {
      callers.release();
    }
  }

  @Override
  public void multiplyHalf(MultiplyProblem problem, HostMemory a, HostMemory c) {
    Multiplier.requireHalf(problem);
    problem.requireBytes(a.bytes(), a.bytes(), c.bytes());
    if (!serves(problem, a, a, c) || !callers.tryAcquire()) {
      own.multiplyHalf(problem, a, c);
      return;
    }
    try {
      forEach(problem, a, a, c, (each, ofA, ofB, ofC) -> multiplyOneHalf(each, ofA, ofC));
    } finally {
      callers.release();
    }
  }

  /** Makes one product of a batch. */
  @FunctionalInterface
  private interface One {
    void multiply(MultiplyProblem problem, long a, long b, long c);
  }

  private static void forEach(
      MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c, One one) {
    MultiplyProblem each = problem.first();
    MultiplyProblem.Batch batch = problem.batch();
    long bytes = problem.type().bytes();
    for (long i = 0; i < batch.count(); i++) {
      one.multiply(
          each,
          a.offset() + i * batch.strideA() * bytes,
          b.offset() + i * batch.strideB() * bytes,
          c.offset() + i * batch.strideC() * bytes);
    }
  }

  private static boolean serves(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
    return problem.precision() == Precision.FULL
        && problem.readsOperands()
        && !problem.keepsC()
        && a.isOffHeap()
        && b.isOffHeap()
        && c.isOffHeap()
        && problem.n() <= MOST_COPIED;
  }

  private void multiplyOne(MultiplyProblem problem, long a, long b, long c) {
    if (problem.type() == ElementType.FLOAT64) {
      multiplyRows(problem, a, b, c);
      return;
    }
    long bytes = problem.type().bytes();
    long stepA = stepA(problem);
    long most = Math.max(1, Math.min(ROWS, MOST_COPIED / problem.n()));
    for (long i = 0; i < problem.m(); i += most) {
      long rows = Math.min(most, problem.m() - i);
      multiplyFloats(problem.withRows(rows), a + i * stepA, b, c + i * problem.leadC() * bytes);
    }
  }

  /** The bytes from one row of op(A) to the next. */
  private static long stepA(MultiplyProblem problem) {
    return (problem.a().transposed() ? 1 : problem.a().lead()) * problem.type().bytes();
  }

  /**
   * Computes the elements on and above the diagonal of one C, square by square on the diagonal,
   * each with the elements to its right.
   */
  private void multiplyOneHalf(MultiplyProblem problem, long a, long c) {
    long bytes = problem.type().bytes();
    long most = Math.min(ROWS, MOST_COPIED / problem.n());
    for (long i = 0; i < problem.m(); i += most) {
      long rows = Math.min(most, problem.m() - i);
      long right = i + rows;
      long rowOfA = a + i * stepA(problem);
      long rowOfC = c + i * problem.leadC() * bytes;
      multiplySquare(problem.withRows(rows).withCols(rows), rowOfA, rowOfC + i * bytes);
      if (right < problem.n()) {
        multiplyOne(
            problem.withRows(rows).withCols(problem.n() - right),
            rowOfA,
            a + right * stepA(problem),
            rowOfC + right * bytes);
      }
    }
  }

  /** Computes the elements on and above the diagonal of a square of C on the diagonal. */
  private void multiplySquare(MultiplyProblem problem, long a, long c) {
    Runs above = Runs.above(problem, c);
    Runnable multiply =
        () -> {
          if (!problem.factors().readsC()) {
            above.clear(); // so clear C first: OpenBLAS multiplies C's old content by beta, and NaN
            // times 0 is NaN
          }
          multiplyAbove(problem, a, c);
        };
    if (problem.type() == ElementType.FLOAT64) {
      multiply.run();
      return;
    }
    multiplyFloats(
        problem,
        above,
        multiply,
        () ->
            own.multiplyHalf(
                problem,
                HostMemory.ofAddress(a, problem.bytesA()),
                HostMemory.ofAddress(c, problem.bytesC())));
  }

  /**
   * Computes rows of C of type FLOAT, and computes those again that have a sum which is not finite.
   */
  private void multiplyFloats(MultiplyProblem problem, long a, long b, long c) {
    multiplyFloats(
        problem,
        Runs.of(problem, c),
        () -> multiplyRows(problem, a, b, c),
        () ->
            own.multiply(
                problem,
                HostMemory.ofAddress(a, problem.bytesA()),
                HostMemory.ofAddress(b, problem.bytesB()),
                HostMemory.ofAddress(c, problem.bytesC())));
  }

  /**
   * Computes a part of C, and computes it again with our own kernels where a sum is not finite.
   *
   * @param runs pieces of memory that make up that part
   */
  private void multiplyFloats(
      MultiplyProblem problem, Runs runs, Runnable multiply, Runnable byOwnKernels) {
    if (!problem.factors().readsC()) {
      multiply.run();
      if (runs.hasNotFinite()) {
        byOwnKernels.run();
      }
      return;
    }
    int length = Math.toIntExact(problem.m() * problem.n());
    float[] kept = copies.poll();
    float[] copy = kept == null || kept.length < length ? new float[length] : kept;
    try {
      runs.copy(HostMemory.ofArray(copy), false);
      multiply.run();
      if (runs.hasNotFinite()) {
        runs.copy(HostMemory.ofArray(copy), true);
        byOwnKernels.run();
      }
    } finally {
      copies.add(copy);
    }
  }

  /**
   * Pieces of memory that make up a part of C, without the gaps between its rows.
   *
   * @param count number of pieces
   * @param bytes bytes of the first piece
   * @param step bytes from the start of a piece to the next
   * @param shrink bytes by which each piece is shorter than the one before
   */
  private record Runs(long address, long count, long bytes, long step, long shrink) {
    static Runs of(MultiplyProblem problem, long c) {
      long rowBytes = problem.n() * Float.BYTES;
      return problem.leadC() == problem.n()
          ? new Runs(c, 1, problem.m() * rowBytes, 0, 0)
          : new Runs(c, problem.m(), rowBytes, problem.leadC() * Float.BYTES, 0);
    }

    /** The elements on and above the diagonal of a square C. */
    static Runs above(MultiplyProblem problem, long c) {
      long width = problem.type().bytes();
      return new Runs(c, problem.m(), problem.n() * width, (problem.leadC() + 1) * width, width);
    }

    private HostMemory get(long run) {
      return HostMemory.ofAddress(address + run * step, bytes - run * shrink);
    }

    void clear() {
      for (long run = 0; run < count; run++) {
        get(run).fill((byte) 0);
      }
    }

    boolean hasNotFinite() {
      for (long run = 0; run < count; run++) {
        if (NanSearch.hasNotFiniteFloat(get(run))) {
          return true;
        }
      }
      return false;
    }

    /** Copies all pieces to memory without gaps, or back from there. */
    void copy(HostMemory dense, boolean back) {
      for (long run = 0; run < count; run++) {
        HostMemory piece = dense.slice(run * bytes, bytes - run * shrink);
        if (back) {
          piece.copyTo(get(run));
        } else {
          get(run).copyTo(piece);
        }
      }
    }
  }

  /** Makes one call for each chunk of K; each call after the first adds to C. */
  private static void multiplyRows(MultiplyProblem problem, long a, long b, long c) {
    long chunk = chunk(problem.k());
    long bytes = problem.type().bytes();
    long stepA = (problem.a().transposed() ? problem.a().lead() : 1) * bytes;
    long stepB = (problem.b().transposed() ? 1 : problem.b().lead()) * bytes;
    for (long p = 0; p < problem.k(); p += chunk) {
      call(
          problem,
          Math.min(chunk, problem.k() - p),
          problem.factorsFrom(p),
          a + p * stepA,
          b + p * stepB,
          c);
    }
  }

  private static void call(
      MultiplyProblem problem, long steps, Factors factors, long a, long b, long c) {
    int formA = problem.a().transposed() ? LibOpenblas.TRANSPOSED : LibOpenblas.AS_STORED;
    int formB = problem.b().transposed() ? LibOpenblas.TRANSPOSED : LibOpenblas.AS_STORED;
    if (problem.type() == ElementType.FLOAT32) {
      LibOpenblas.cblas_sgemm(
          LibOpenblas.ROW_MAJOR,
          formA,
          formB,
          problem.m(),
          problem.n(),
          steps,
          (float) factors.alpha(),
          a,
          problem.a().lead(),
          b,
          problem.b().lead(),
          (float) factors.beta(),
          c,
          problem.leadC());
    } else {
      LibOpenblas.cblas_dgemm(
          LibOpenblas.ROW_MAJOR,
          formA,
          formB,
          problem.m(),
          problem.n(),
          steps,
          factors.alpha(),
          a,
          problem.a().lead(),
          b,
          problem.b().lead(),
          factors.beta(),
          c,
          problem.leadC());
    }
  }

  /** Makes one call for each chunk of K, which adds to the elements on and above C's diagonal. */
  private static void multiplyAbove(MultiplyProblem problem, long a, long c) {
    long chunk = chunk(problem.k());
    boolean isTransposed = problem.a().transposed();
    int form = isTransposed ? LibOpenblas.TRANSPOSED : LibOpenblas.AS_STORED;
    long lead = problem.a().lead();
    long step = (isTransposed ? lead : 1) * problem.type().bytes();
    for (long p = 0; p < problem.k(); p += chunk) {
      long steps = Math.min(chunk, problem.k() - p);
      long from = a + p * step;
      if (problem.type() == ElementType.FLOAT32) {
        LibOpenblas.cblas_ssyrk(
            LibOpenblas.ROW_MAJOR,
            LibOpenblas.UPPER,
            form,
            problem.n(),
            steps,
            1,
            from,
            lead,
            1,
            c,
            problem.leadC());
      } else {
        LibOpenblas.cblas_dsyrk(
            LibOpenblas.ROW_MAJOR,
            LibOpenblas.UPPER,
            form,
            problem.n(),
            steps,
            1,
            from,
            lead,
            1,
            c,
            problem.leadC());
      }
    }
  }

  /**
   * Steps of K for each call. A chain of n additions of terms of one sign and about one size has an
   * error of at most n / 2 units in the last place; this leaves half of the allowed error for
   * adding the chunks. Where one term outweighs the others, the errors of n additions are a random
   * walk with steps of up to a unit, for which half of K is short enough.
   */
  static long chunk(long k) {
    return Math.max((long) Math.ceil(2 * Math.sqrt((double) k)), Math.min(GOOD_CHUNK, (k + 1) / 2));
  }

  /** Frees the memory kept between calls; the multiplier stays usable. */
  @Override
  public void close() {
    copies.clear();
    own.close();
  }

  @Override
  public String toString() {
    return "cpu (OpenBLAS " + library.core() + ")";
  }
}
