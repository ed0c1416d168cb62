package org.tilespark.kernels.multiply;

import org.tilespark.kernels.launch.Ceil;

/**
 * The size of the workspace of a multiply on the tensor cores, and so the number of products of a
 * batch that run at once. Pure functions.
 *
 * <p>The workspace of a chunk: flags of the tiles, packed A, packed B, partial sums of C.
 */
final class TensorWorkspace {
  /** The rows of a packed operand are a multiple of this. */
  static final int PACKED_ROWS = 64;

  /**
   * A plane of a split B has a multiple of this many rows, so that each plane begins with a whole
   * tile.
   */
  static final int SPLIT_TILE = 128;

  /** The least number of rows, and of columns, of a tile of DOUBLE. */
  private static final int LEAST_DOUBLE_TILE = 64;

  /** Most bytes of the packed operands of all products that run at once. */
  private static final long MOST_BATCH_BYTES = 1L << 30;

  /**
   * The largest number of elements that kernels and maps can count in 32 bits, with a tile to
   * spare.
   */
  static final long MOST_COUNT = Integer.MAX_VALUE - SPLIT_TILE;

  /** Alignment of the parts of the workspace, in bytes. */
  private static final int ALIGNMENT = 256;

  /**
   * The largest number of FLOAT64 values of a matrix in the workspace: more than any device holds,
   * and small enough that the bytes of several matrices can be counted.
   */
  private static final long MOST_DOUBLES = 1L << 56;

  private TensorWorkspace() {}

  /** True if the kernels' 32-bit counters hold the extents and strides of one product. */
  static boolean canCount(MultiplyProblem problem, TensorForm form) {
    if (problem.m() > MOST_COUNT || problem.n() > MOST_COUNT / form.planesOfB() - SPLIT_TILE) {
      return false;
    }
    // The kernels for double count steps of K and tiles in 32 bits.
    return form != TensorForm.FLOAT64
        || (problem.k() <= MOST_COUNT && tilesOfC(problem, LEAST_DOUBLE_TILE) <= Integer.MAX_VALUE);
  }

  /** The number of products of a batch that run at once. */
  static long atOnce(TensorForm form, MultiplyProblem problem, long chunk) {
    if (problem.batch().count() == 1) {
      return 1;
    }
    double tiles = tilesOfC(problem, form == TensorForm.FLOAT64 ? LEAST_DOUBLE_TILE : SPLIT_TILE);
    double rows =
        Math.max(
            Ceil.to(Math.max(problem.m(), Math.min(chunk, problem.k())), PACKED_ROWS),
            form.planesOfB() * rowsOfB(form, problem));
    double counted = MOST_COUNT / Math.max(tiles, rows);
    double packed = (double) MOST_BATCH_BYTES / bytes(form, problem, chunk, 1, 1);
    return Math.max(
        1, (long) Math.min((double) problem.batch().count(), Math.min(counted, packed)));
  }

  /**
   * Bytes of the workspace of a problem.
   *
   * @param parts number of parts of K in the longest chunk
   * @param atOnce number of products that run at once
   */
  static long bytes(TensorForm form, MultiplyProblem problem, long chunk, long parts, long atOnce) {
    long k = Math.min(chunk, problem.k());
    MultiplyProblem.Batch batch = problem.batch();
    return flagBytes(form, problem, parts * atOnce)
        + bytesA(form, problem, k, alike(batch.strideA(), atOnce))
        + bytesB(form, problem, k, alike(batch.strideB(), atOnce))
        + partBytes(problem, parts);
  }

  /**
   * The largest number of bytes of the workspace of a problem, or of one of smaller extents or
   * fewer products.
   *
   * @param processors multiprocessors of the device; 0 if K is never cut
   */
  static long mostBytes(TensorForm form, MultiplyProblem problem, int processors) {
    MultiplyProblem one = problem.first();
    long whole = bytes(form, one, MultiplyStrategy.Tensor.chunk(form, one.k(), 1), 1, 1);
    long count = problem.batch().count();
    long most =
        count == 1 || whole >= MOST_BATCH_BYTES
            ? whole
            : Math.max(whole, (long) Math.min(MOST_BATCH_BYTES, (double) count * whole));
    long parts = Math.min(processors, PartsOfK.mostParts(form, one.k()));
    if (parts < 2) {
      return most;
    }
    // K is cut into p parts only if p times the tile count is at most the multiprocessor count.
    long scratch =
        (long)
            Math.min(
                (double) processors * SPLIT_TILE * SPLIT_TILE, (double) parts * one.m() * one.n());
    long cut = 0;
    for (long p = 2; p <= Math.min(parts, MultiplyStrategy.Tensor.MOST_CHUNKS); p++) {
      long tiles = processors / p;
      long k = Math.min(one.k(), MultiplyStrategy.Tensor.chunk(form, one.k(), p));
      for (long high = 1; high <= tiles; high++) {
        long m = Math.min(one.m(), high * SPLIT_TILE);
        long n = Math.min(one.n(), tiles / high * SPLIT_TILE);
        MultiplyProblem few =
            MultiplyProblem.dense(m, k, n, one.type(), one.a().transposed(), one.b().transposed());
        cut = Math.max(cut, bytesA(form, few, k, 1) + bytesB(form, few, k, 1));
      }
    }
    long flags = form == TensorForm.SPLIT ? aligned((long) processors * Integer.BYTES) : 0;
    // The tail of DOUBLE needs its place in addition to that of the packed copies.
    long beside = form == TensorForm.FLOAT64 ? Math.max(most, cut) : cut;
    return Math.max(most, flags + beside + aligned(scratch * one.type().bytes()));
  }

  /**
   * Number of distinct matrices of an operand of {@code count} products: 1 if all products share
   * one.
   */
  static long alike(long stride, long count) {
    return stride == 0 ? 1 : count;
  }

  /** Number of tiles of {@code tile} rows and columns that make up C of one product. */
  static double tilesOfC(MultiplyProblem problem, int tile) {
    return (double) Ceil.div(problem.m(), tile) * Ceil.div(problem.n(), tile);
  }

  /** Bytes of the workspace for the partial sums of one product's parts of K. */
  static long partBytes(MultiplyProblem problem, long parts) {
    return parts == 1 ? 0 : aligned(parts * problem.m() * problem.n() * problem.type().bytes());
  }

  /** Bytes of the workspace for the partial sums of the tail columns. */
  static long restBytes(MultiplyProblem problem, MultiplyStrategy.Tensor.Rest rest) {
    return rest.isNone()
        ? 0
        : aligned(
            rest.parts()
                * PartsOfK.rowsOfKernel(problem)
                * (PartsOfK.colsOfKernel(problem) - rest.from())
                * Double.BYTES);
  }

  /** Bytes of the workspace for the flags of tiles, which only {@link TensorForm#SPLIT} has. */
  static long flagBytes(TensorForm form, MultiplyProblem problem, long batches) {
    return form != TensorForm.SPLIT
        ? 0
        : aligned(
            batches
                * Ceil.div(problem.m(), SPLIT_TILE)
                * Ceil.div(problem.n(), SPLIT_TILE)
                * Integer.BYTES);
  }

  /** Bytes of the workspace for {@code count} packed matrices A. */
  static long bytesA(TensorForm form, MultiplyProblem problem, long k, long count) {
    return form == TensorForm.FLOAT64
        ? rowBytes(problem.m(), k, count)
        : aligned(
            count
                * Math.max(
                    Ceil.to(problem.m(), PACKED_ROWS) * Ceil.to(k, form.panel()),
                    form == TensorForm.SPLIT
                        ? Ceil.to(k, PACKED_ROWS) * Ceil.to(problem.m(), form.panel())
                        : 0)
                * form.elementOfA().bytes());
  }

  private static long bytesB(TensorForm form, MultiplyProblem problem, long k, long count) {
    return form == TensorForm.FLOAT64
        ? rowBytes(problem.n(), k, count)
        : aligned(
            count
                * form.planesOfB()
                * rowsOfB(form, problem)
                * Ceil.to(k, form.panel())
                * form.element().bytes());
  }

  /** Rows of one plane of the packed B. */
  static long rowsOfB(TensorForm form, MultiplyProblem problem) {
    return Ceil.to(problem.n(), form == TensorForm.SPLIT ? SPLIT_TILE : PACKED_ROWS);
  }

  /**
   * Bytes of {@code count} matrices of an operand of DOUBLE with rows as {@link DoubleSteps} pads
   * them, in the larger of the two ways to store the operand.
   */
  private static long rowBytes(long extent, long k, long count) {
    return (double) (extent + 1) * (k + 1) > MOST_DOUBLES
        ? MOST_DOUBLES * Double.BYTES
        : aligned(
            count
                * Math.max(
                    extent * Ceil.to(k, DoubleSteps.EVEN), k * Ceil.to(extent, DoubleSteps.EVEN))
                * Double.BYTES);
  }

  private static long aligned(long bytes) {
    return Ceil.to(bytes, ALIGNMENT);
  }
}
