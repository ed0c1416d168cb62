package org.tilespark.kernels.host;

import dev.ludovic.netlib.blas.BLAS;
import dev.ludovic.netlib.blas.JavaBLAS;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.multiply.Multiplier;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.Precision;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * The host twin: the semantics of {@link Multiplier} on netlib's Java BLAS, on the calling thread
 * alone (Spark gives each task one core). Oracle of the tests and fallback in production.
 *
 * <p>C goes tile by tile, and a tile goes through K in chunks: a chunk of A and one of B are copied
 * into dense arrays of doubles, and {@code dgemm} multiplies them. For FLOAT32 that makes every
 * product exact and every sum far more exact than the result can hold, and it is also the fastest:
 * chunks that keep a {@code sgemm} accurate are so short that it runs no faster. For FLOAT64 the
 * chunks' sums are added with the rounding errors carried along (Knuth's two-sum), so that errors
 * do not grow with K. So 1e30 * 1e10 - 1e30 * 1e10 is 0 here for FLOAT, and may be infinite or NaN
 * on a device, which has no wider sums at speed; the order in which a device adds decides, and no
 * twin could follow it, so that results of overflowing FLOAT sums are left unspecified. Alpha times
 * a sum is rounded, then that plus beta times C; for FLOAT32 both in double, and to float once. The
 * lower precisions round the inputs as the device does.
 *
 * <p>No zero is skipped: NaN and infinity in one operand reach the result as in numpy, also where
 * they meet a zero.
 *
 * <p>netlib uses vector instructions where the JVM runs with {@code --add-modules
 * jdk.incubator.vector}, as Spark's own launcher has it; without, it is three times slower.
 *
 * <p>Safe for several threads; each concurrent call uses arrays of {@value #STAGE_BYTES} bytes,
 * kept for the next call until {@link #close}.
 */
public final class HostMultiplier implements Multiplier {
  /** Rows and columns of a tile of C. Measured, with the next: multiples of netlib's own blocks. */
  private static final int TILE_ROWS = 240;

  private static final int TILE_COLS = 480;

  /** Steps of K between which the rounding errors of a sum may add up. */
  private static final int CHUNK = 256;

  /**
   * From this M*K*N of a tile on netlib uses vector instructions; each lane is a sum of its own.
   */
  private static final long VECTOR_PRODUCTS = 1_000_000;

  /**
   * The longest chunk where a sum of doubles is a single chain of additions. Shorter ones for
   * shorter K: a chain of 2 sqrt(K) additions errs by as many units at most.
   */
  private static final int SCALAR_CHUNK = 64;

  static final int STAGE_BYTES =
      (TILE_ROWS * CHUNK + CHUNK * TILE_COLS + 3 * TILE_ROWS * TILE_COLS) * Double.BYTES;

  private static final Unsafe UNSAFE = HostMemory.unsafe();
  private static final BLAS BLAS = quietly();
  private static final boolean VECTORS = BLAS.getClass().getSimpleName().startsWith("Vector");

  private final Queue<Stage> stages = new ConcurrentLinkedQueue<>();

  /**
   * netlib's vectors take rows and columns by threes; the rest would be summed in long chains. So
   * tiles are made up to whole threes, by whatever the arrays hold there, and the rest is ignored.
   */
  private static int wholeThrees(int extent) {
    return (extent + 2) / 3 * 3;
  }

  /** What one call works in. */
  private static final class Stage {
    final double[] a = new double[TILE_ROWS * CHUNK]; // a chunk of A as stored
    final double[] b = new double[CHUNK * TILE_COLS]; // a chunk of B as stored
    final double[] part = new double[TILE_ROWS * TILE_COLS]; // (rows, cols), of one chunk
    final double[] sum = new double[TILE_ROWS * TILE_COLS]; // (rows, cols)
    final double[] error = new double[TILE_ROWS * TILE_COLS]; // what sum lost to rounding
  }

  /** netlib, without its two warnings that there is no native library, which is not wanted here. */
  private static BLAS quietly() {
    Logger logger = Logger.getLogger(JavaBLAS.class.getPackageName());
    Level before = logger.getLevel();
    logger.setLevel(Level.SEVERE);
    try {
      return JavaBLAS.getInstance();
    } finally {
      logger.setLevel(before);
    }
  }

  @Override
  public void multiply(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c) {
    problem.requireBytes(a.bytes(), b.bytes(), c.bytes());
    if (problem.keepsC()) {
      return;
    }
    Stage stage = stages.poll();
    if (stage == null) {
      stage = new Stage();
    }
    try {
      MultiplyProblem each = problem.first();
      MultiplyProblem.Batch batch = problem.batch();
      for (long i = 0; i < batch.count(); i++) {
        new Work(
                each,
                part(a, i * batch.strideA(), each.bytesA(), each.type()),
                part(b, i * batch.strideB(), each.bytesB(), each.type()),
                part(c, i * batch.strideC(), each.bytesC(), each.type()),
                stage)
            .run();
      }
    } finally {
      stages.add(stage);
    }
  }

  private static HostMemory part(HostMemory all, long element, long bytes, ElementType type) {
    return all.slice(bytes == 0 ? 0 : element * type.bytes(), bytes);
  }

  /** Lets go of the arrays kept between calls; the multiplier stays usable. */
  @Override
  public void close() {
    stages.clear();
  }

  @Override
  public String toString() {
    return "host multiplier on netlib's " + BLAS.getClass().getSimpleName();
  }

  /**
   * One call.
   *
   * <p>Index letters: {@code i} counts rows of C, {@code j} its columns, {@code p} steps of K.
   */
  private static final class Work {
    private final MultiplyProblem problem;
    private final HostMemory a;
    private final HostMemory b;
    private final HostMemory c;
    private final Stage stage;
    private final long k; // steps that have a share in C
    private final double alpha;
    private final double beta;
    private final boolean isDouble;

    Work(MultiplyProblem problem, HostMemory a, HostMemory b, HostMemory c, Stage stage) {
      this.problem = problem;
      this.a = a;
      this.b = b;
      this.c = c;
      this.stage = stage;
      this.k = problem.readsOperands() ? problem.k() : 0;
      this.alpha = problem.readsOperands() ? problem.factors().alpha() : 0;
      this.beta = problem.factors().beta();
      this.isDouble = problem.type() == ElementType.FLOAT64;
    }

    void run() {
      for (long j = 0; j < problem.n(); j += TILE_COLS) {
        int cols = (int) Math.min(TILE_COLS, problem.n() - j);
        for (long i = 0; i < problem.m(); i += TILE_ROWS) {
          tile(i, (int) Math.min(TILE_ROWS, problem.m() - i), j, cols);
        }
      }
    }

    private void tile(long i, int rows, long j, int cols) {
      int rowPitch = wholeThrees(rows);
      int colPitch = wholeThrees(cols);
      boolean vectors = VECTORS && Math.min(CHUNK, k) * rowPitch * colPitch >= VECTOR_PRODUCTS;
      int chunk =
          vectors || !isDouble
              ? CHUNK
              : (int) Math.max(8, Math.min(SCALAR_CHUNK, 2 * Math.sqrt((double) k)));
      int elements = rows * colPitch;
      long leadA = problem.leadA();
      long leadB = problem.leadB();
      Arrays.fill(stage.sum, 0, elements, 0);
      Arrays.fill(stage.error, 0, elements, 0);
      for (long p = 0; p < k; p += chunk) {
        int steps = (int) Math.min(chunk, k - p);
        int pitchA = problem.transposeA() ? rowPitch : steps;
        int pitchB = problem.transposeB() ? steps : colPitch;
        if (problem.transposeA()) {
          load(a, p * leadA + i, leadA, steps, rows, stage.a, pitchA);
        } else {
          load(a, i * leadA + p, leadA, rows, steps, stage.a, pitchA);
        }
        if (problem.transposeB()) {
          load(b, j * leadB + p, leadB, cols, steps, stage.b, pitchB);
        } else {
          load(b, p * leadB + j, leadB, steps, cols, stage.b, pitchB);
        }
        // BLAS counts column by column. Read that way, each row-major matrix is its transpose, so
        // the operands change places: C^T = op(B)^T op(A)^T.
        BLAS.dgemm(
            problem.transposeB() ? "T" : "N",
            problem.transposeA() ? "T" : "N",
            colPitch,
            rowPitch,
            steps,
            1,
            stage.b,
            0,
            pitchB,
            stage.a,
            0,
            pitchA,
            isDouble ? 0 : 1,
            isDouble ? stage.part : stage.sum,
            0,
            colPitch);
        if (isDouble) {
          add(stage.part, stage.sum, stage.error, elements);
        }
      }
      store(i, rows, j, cols, colPitch);
    }

    /** Adds {@code part} to {@code sum}, and what that loses to {@code error}. */
    private static void add(double[] part, double[] sum, double[] error, int elements) {
      for (int e = 0; e < elements; e++) {
        double before = sum[e];
        double term = part[e];
        double after = before + term;
        double termSeen = after - before;
        error[e] += (before - (after - termSeen)) + (term - termSeen);
        sum[e] = after;
      }
    }

    /**
     * Copies a piece of a matrix, as it is stored, into an array of doubles.
     *
     * @param first the piece's first element, counted from the matrix's first
     */
    private void load(
        HostMemory from, long first, long lead, int rows, int cols, double[] to, int pitch) {
      Precision precision = problem.precision();
      for (int r = 0; r < rows; r++) {
        long at = first + r * lead;
        int start = r * pitch;
        if (isDouble) {
          UNSAFE.copyMemory(
              from.base(),
              from.offset() + at * Double.BYTES,
              to,
              Unsafe.ARRAY_DOUBLE_BASE_OFFSET + (long) start * Double.BYTES,
              (long) cols * Double.BYTES);
          continue;
        }
        long address = from.offset() + at * Float.BYTES;
        for (int e = 0; e < cols; e++) {
          to[start + e] = UNSAFE.getFloat(from.base(), address + (long) e * Float.BYTES);
        }
        if (precision != Precision.FULL) {
          for (int e = start; e < start + cols; e++) {
            to[e] = precision.round((float) to[e]);
          }
        }
      }
    }

    private void store(long i, int rows, long j, int cols, int pitch) {
      for (int r = 0; r < rows; r++) {
        long at = (i + r) * problem.leadC() + j;
        int start = r * pitch;
        if (isDouble) {
          long address = c.offset() + at * Double.BYTES;
          for (int e = 0; e < cols; e++) {
            double sum = stage.sum[start + e];
            double error = stage.error[start + e];
            long to = address + (long) e * Double.BYTES;
            // An infinite sum has no error: what was computed for it is NaN.
            double product = alpha * (Double.isFinite(error) ? sum + error : sum);
            UNSAFE.putDouble(
                c.base(),
                to,
                beta == 0 ? product : Math.fma(beta, UNSAFE.getDouble(c.base(), to), product));
          }
        } else {
          long address = c.offset() + at * Float.BYTES;
          for (int e = 0; e < cols; e++) {
            long to = address + (long) e * Float.BYTES;
            double product = alpha * stage.sum[start + e];
            UNSAFE.putFloat(
                c.base(),
                to,
                (float) (beta == 0 ? product : product + beta * UNSAFE.getFloat(c.base(), to)));
          }
        }
      }
    }
  }
}
