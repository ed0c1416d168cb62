package org.tilespark.kernels.host;

import java.util.List;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.transpose.Axis;
import org.tilespark.kernels.transpose.Move;
import org.tilespark.kernels.transpose.TransposeProblem;
import org.tilespark.kernels.transpose.Transposer;
import sun.misc.Unsafe;

/**
 * The host twin: the semantics of {@link Transposer} in plain Java, of any rank, on the calling
 * thread alone (Spark gives each task one core). Oracle of the tests and fallback in production.
 *
 * <p>As on the device, the problem is simplified first ({@link Move}); what is left is one copy, a
 * copy of runs, or two-dimensional transposes between the innermost axes of input and output. Those
 * go tile by tile: a tile of the input is read row by row, eight rows at a time, and laid down
 * transposed in a buffer that stays in the second-level cache; then each of the buffer's rows goes
 * to the output as one contiguous piece of 512 bytes or more. So both sides move whole cache lines,
 * whatever the leading dimension: a power of two, whose rows all fall into the same few cache sets,
 * is no worse than any other.
 *
 * <p>Safe for several threads; each concurrent call uses a buffer of at most {@value
 * #MAX_STAGE_BYTES} bytes, kept for the next call until {@link #close}.
 */
public final class HostTransposer implements Transposer {
  /** Most bytes of a staging buffer: half of a usual second-level cache. */
  private static final int MAX_STAGE_BYTES = 576 << 10;

  /**
   * The least number of bytes of a tile's row in the output: eight cache lines, so that a copy's
   * overhead is small.
   */
  private static final int PIECE_BYTES = 512;

  /**
   * The least number of input rows of a tile; more if these rows make pieces of fewer than {@link
   * #PIECE_BYTES} bytes. Measured, as are the next two limits.
   */
  private static final int MIN_TILE_ROWS = 128;

  /**
   * The largest number of input columns of a tile: cache lines of the buffer, one for each column,
   * are written alternately, 32 KiB in all.
   */
  private static final int MAX_TILE_COLS = 512;

  /** Most bytes of a tile's row in the input. */
  private static final int MAX_TILE_COL_BYTES = 4096;

  /**
   * Output rows that follow each other without gaps are written together if each is shorter than
   * this, in bytes.
   */
  private static final int DENSE_BYTES = 256;

  /**
   * Runs of fewer bytes than this are copied by our own loop, which is faster than a call for them.
   */
  private static final int CALL_BYTES = 64;

  /**
   * Side of the squares in which short runs are visited, so that cache lines are reused while they
   * are cached.
   */
  private static final int RUN_SQUARE = 32;

  private static final int LINE_BYTES = 64;
  private static final long STAGE_BASE = Unsafe.ARRAY_LONG_BASE_OFFSET;
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final Queue<long[]> stages = new ConcurrentLinkedQueue<>();

  /** The method that moves the elements of a problem. */
  private enum Way {
    NOTHING,
    COPY,
    RUNS,
    TILES
  }

  /**
   * A transpose made ready: its simplest form, and the method that moves its elements. Safe for
   * several threads.
   */
  public static final class Ready {
    private final TransposeProblem problem;
    private final Way way;
    private final long width; // bytes of a run, or of an element
    private final long inBytes;
    private final long outBytes;
    private final long inStartBytes;
    // Extents, and strides in bytes, of each axis, outermost first; the axes inside a run are left
    // out.
    private final long[] extents;
    private final long[] inStrides;
    private final long[] outStrides;

    private Ready(
        TransposeProblem problem, Way way, long width, int elementBytes, List<Axis> axes) {
      this.problem = problem;
      this.way = way;
      this.width = width;
      this.inBytes = problem.inBytes();
      this.outBytes = problem.outBytes();
      this.inStartBytes = problem.inStartBytes();
      extents = axes.stream().mapToLong(Axis::extent).toArray();
      inStrides = axes.stream().mapToLong(axis -> axis.inStride() * elementBytes).toArray();
      outStrides = axes.stream().mapToLong(axis -> axis.outStride() * elementBytes).toArray();
    }
  }

  /** Prepares a transpose, which may then be run on any number of arrays. */
  public static Ready ready(TransposeProblem problem) {
    if (problem.bytes() == 0) {
      return new Ready(problem, Way.NOTHING, 0, 0, List.of());
    }
    Move move = Move.of(problem);
    if (move.isCopy()) {
      return new Ready(problem, Way.COPY, 0, 0, List.of());
    }
    for (OptionalInt found = move.runAxis(); found.isPresent(); found = move.runAxis()) {
      int run = found.getAsInt();
      long runBytes = move.axes().get(run).extent() * move.elementBytes();
      if (runBytes > 16 || Long.bitCount(runBytes) != 1 || !move.absorbs(run)) {
        return new Ready(problem, Way.RUNS, runBytes, move.elementBytes(), move.without(run));
      }
      move = move.absorb(run);
    }
    OptionalInt innermostOut = move.outInnermost();
    OptionalInt innermostIn = move.inInnermost();
    int bytes = move.elementBytes();
    if (innermostOut.isEmpty() || innermostIn.isEmpty()) {
      return new Ready(problem, Way.RUNS, bytes, bytes, move.axes());
    }
    int rows = innermostOut.getAsInt();
    int cols = innermostIn.getAsInt();
    // Rows come last, as the output's innermost axis.
    List<Axis> axes = move.without(rows, cols);
    axes.add(move.axes().get(cols));
    axes.add(move.axes().get(rows));
    return new Ready(problem, Way.TILES, bytes, bytes, axes);
  }

  @Override
  public void transpose(TransposeProblem problem, HostMemory in, HostMemory out) {
    transpose(ready(problem), in, out);
  }

  /** Transposes as {@link #transpose(TransposeProblem, HostMemory, HostMemory)} does. */
  public void transpose(Ready ready, HostMemory in, HostMemory out) {
    if (in.bytes() != ready.inBytes || out.bytes() != ready.outBytes) {
      ready.problem.requireBytes(in.bytes(), out.bytes()); // throws with a message
    }
    switch (ready.way) {
      case NOTHING -> {}
      case COPY -> in.copyTo(out);
      case RUNS -> new Work(ready, in, out).copyRuns(ready.width);
      case TILES -> {
        long[] stage = takeStage();
        try {
          new Work(ready, in, out).transposeTiles(stage);
        } finally {
          stages.add(stage);
        }
      }
    }
  }

  private long[] takeStage() {
    long[] stage = stages.poll();
    return stage == null ? new long[MAX_STAGE_BYTES / Long.BYTES] : stage;
  }

  /** Frees the staging buffers; the transposer stays usable. */
  @Override
  public void close() {
    stages.clear();
  }

  @Override
  public String toString() {
    return "host transposer";
  }

  /**
   * The input and output of one call, described by the output's axes; strides are in bytes.
   *
   * <p>Index letters: {@code i} counts input rows, {@code j} input columns, {@code axis} output
   * axes.
   */
  private static final class Work {
    private final int width;
    private final Object inBase;
    private final long inStart;
    private final Object outBase;
    private final long outStart;
    private final long[] extents;
    private final long[] inStrides;
    private final long[] outStrides;

    Work(Ready ready, HostMemory in, HostMemory out) {
      width = (int) ready.width;
      inBase = in.base();
      inStart = in.offset() + ready.inStartBytes;
      outBase = out.base();
      outStart = out.offset();
      extents = ready.extents;
      inStrides = ready.inStrides;
      outStrides = ready.outStrides;
    }

    /** The axis of a tile's columns: the input's innermost axis. */
    private int colAxis() {
      return extents.length - 2;
    }

    /** The axis of a tile's rows: the output's innermost axis. */
    private int rowAxis() {
      return extents.length - 1;
    }

    // --- two-dimensional transposes ---

    void transposeTiles(long[] stage) {
      forEachOuter(0, inStart, outStart, stage);
    }

    /**
     * Transposes the matrix at each step of the axes that are neither rows nor columns, in output
     * order.
     */
    private void forEachOuter(int axis, long in, long out, long[] stage) {
      if (axis == colAxis()) {
        transposeMatrix(in, out, stage);
      } else {
        for (long step = 0; step < extents[axis]; step++) {
          forEachOuter(axis + 1, in + step * inStrides[axis], out + step * outStrides[axis], stage);
        }
      }
    }

    /** Transposes one matrix: (rows, cols) at {@code in} becomes (cols, rows) at {@code out}. */
    private void transposeMatrix(long in, long out, long[] stage) {
      HostTile tile = new HostTile(width, stage);
      long rows = extents[rowAxis()];
      long cols = extents[colAxis()];
      long inPitch = inStrides[rowAxis()];
      long outPitch = outStrides[colAxis()];
      int tileRows = tileExtent(rows, Math.max(MIN_TILE_ROWS, PIECE_BYTES / width));
      int tileCols = tileExtent(cols, Math.min(MAX_TILE_COLS, MAX_TILE_COL_BYTES / width));
      for (long i = 0; i < rows; i += tileRows) {
        int rowsHere = (int) Math.min(tileRows, rows - i);
        for (long j = 0; j < cols; j += tileCols) {
          int colsHere = (int) Math.min(tileCols, cols - j);
          long from = in + i * inPitch + j * width;
          long to = out + j * outPitch + i * width;
          long pieceBytes = (long) rowsHere * width;
          boolean dense = pieceBytes == outPitch && pieceBytes < DENSE_BYTES;
          long stagePitch = dense ? pieceBytes : stagePitch(pieceBytes);
          tile.transpose(inBase, from, inPitch, STAGE_BASE, stagePitch, rowsHere, colsHere);
          if (dense) { // the tile's rows are whole rows of the output: one piece
            copy(stage, STAGE_BASE, outBase, to, pieceBytes * colsHere);
            continue;
          }
          for (int c = 0; c < colsHere; c++) {
            copy(stage, STAGE_BASE + c * stagePitch, outBase, to + c * outPitch, pieceBytes);
          }
        }
      }
    }

    /**
     * The extent of a tile along an axis: nearly equal for all tiles, so that the last tile is not
     * narrow; a multiple of whole cache lines and of 8.
     */
    private int tileExtent(long extent, int limit) {
      long quantum = Math.max(8, LINE_BYTES / width);
      long tiles = (extent + limit - 1) / limit;
      long even = (extent + tiles - 1) / tiles;
      return (int) Math.min(limit, (even + quantum - 1) / quantum * quantum);
    }

    /**
     * The bytes from one row of the buffer to the next: an odd number of cache lines, so that the
     * rows spread over all cache sets.
     */
    private static long stagePitch(long pieceBytes) {
      long lines = (pieceBytes + LINE_BYTES - 1) / LINE_BYTES;
      return (lines | 1) * LINE_BYTES;
    }

    // --- runs that stay whole ---

    /** Copies runs of {@code runBytes} bytes, one for each step of the axes. */
    void copyRuns(long runBytes) {
      int outerAxes = extents.length;
      // The two axes whose runs are closest together, in the output and in the input.
      int outInner = outerAxes - 1;
      int inInner = 0;
      for (int axis = 1; axis < outerAxes; axis++) {
        if (Math.abs(inStrides[axis]) < Math.abs(inStrides[inInner])) {
          inInner = axis;
        }
      }
      if (runBytes >= PIECE_BYTES || inInner == outInner) {
        copyRunsInOrder(0, outerAxes, inStart, outStart, runBytes);
      } else {
        copyRunsInSquares(0, inInner, outInner, inStart, outStart, runBytes);
      }
    }

    private void copyRunsInOrder(int axis, int outerAxes, long in, long out, long runBytes) {
      if (axis == outerAxes) { // there are no outer axes
        copy(inBase, in, outBase, out, runBytes);
        return;
      }
      if (axis == outerAxes - 1) {
        for (long step = 0; step < extents[axis]; step++) {
          copy(inBase, in, outBase, out, runBytes);
          in += inStrides[axis];
          out += outStrides[axis];
        }
        return;
      }
      for (long step = 0; step < extents[axis]; step++) {
        copyRunsInOrder(
            axis + 1,
            outerAxes,
            in + step * inStrides[axis],
            out + step * outStrides[axis],
            runBytes);
      }
    }

    private void copyRunsInSquares(
        int axis, int inInner, int outInner, long in, long out, long runBytes) {
      if (axis == outInner) {
        copySquares(inInner, outInner, in, out, runBytes);
      } else if (axis == inInner) {
        copyRunsInSquares(axis + 1, inInner, outInner, in, out, runBytes);
      } else {
        for (long step = 0; step < extents[axis]; step++) {
          copyRunsInSquares(
              axis + 1,
              inInner,
              outInner,
              in + step * inStrides[axis],
              out + step * outStrides[axis],
              runBytes);
        }
      }
    }

    private void copySquares(int inInner, int outInner, long in, long out, long runBytes) {
      long inStepY = inStrides[inInner];
      long outStepY = outStrides[inInner];
      long inStepX = inStrides[outInner];
      long outStepX = outStrides[outInner];
      for (long b = 0; b < extents[inInner]; b += RUN_SQUARE) {
        int countY = (int) Math.min(RUN_SQUARE, extents[inInner] - b);
        for (long a = 0; a < extents[outInner]; a += RUN_SQUARE) {
          int countX = (int) Math.min(RUN_SQUARE, extents[outInner] - a);
          for (int y = 0; y < countY; y++) {
            long from = in + (b + y) * inStepY + a * inStepX;
            long to = out + (b + y) * outStepY + a * outStepX;
            for (int x = 0; x < countX; x++) {
              copy(inBase, from, outBase, to, runBytes);
              from += inStepX;
              to += outStepX;
            }
          }
        }
      }
    }

    private static void copy(Object inBase, long in, Object outBase, long out, long bytes) {
      if (bytes >= CALL_BYTES) {
        UNSAFE.copyMemory(inBase, in, outBase, out, bytes);
        return;
      }
      long at = 0;
      for (; at + 8 <= bytes; at += 8) {
        UNSAFE.putLong(outBase, out + at, UNSAFE.getLong(inBase, in + at));
      }
      if ((bytes & 4) != 0) {
        UNSAFE.putInt(outBase, out + at, UNSAFE.getInt(inBase, in + at));
        at += 4;
      }
      if ((bytes & 2) != 0) {
        UNSAFE.putShort(outBase, out + at, UNSAFE.getShort(inBase, in + at));
        at += 2;
      }
      if ((bytes & 1) != 0) {
        UNSAFE.putByte(outBase, out + at, UNSAFE.getByte(inBase, in + at));
      }
    }
  }
}
