package org.tilespark.kernels.host;

import java.util.ArrayList;
import java.util.List;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.pointwise.BinaryFunction;
import org.tilespark.kernels.pointwise.HostLoop;
import org.tilespark.kernels.reduce.ReducedAxes;
import org.tilespark.kernels.reduce.Reduction;
import org.tilespark.kernels.reduce.ReductionProblem;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Reductions on the CPU, on the calling thread: the oracle of tests and the fallback for {@code
 * DeviceReducer}. Complex arrays are reduced plane by plane.
 *
 * <p>Several sequences are reduced together if they are short or not along the innermost axis: a
 * tile has a column for each sequence and a row for each of its numbers, so that the additions of a
 * tree are one loop over half a tile.
 *
 * <p>For one thread at a time; it keeps tiles for the problems that it has solved.
 */
public final class HostReducer {
  /** Numbers in a tile with several columns: a tile of DOUBLE stays in the second-level cache. */
  private static final int TILE = 1 << 15;

  /**
   * Numbers of each sequence in a tile of several neighbouring sequences; a small number, so that
   * the rows of the tile are long. A power of two.
   */
  private static final int ROWS = 32;

  /** The longest sequences along the innermost axis of which several are reduced together. */
  private static final int SHORT = 64;

  private static final int PROBLEMS = 4;

  private static final long BASE = Unsafe.ARRAY_BYTE_BASE_OFFSET; // for arrays of every type
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final PlanCache<ReductionProblem, Run> runs = new PlanCache<>(PROBLEMS);

  /**
   * Reduces an array.
   *
   * @param in the array
   * @param out the results, which do not overlap the array
   * @throws IllegalArgumentException if {@code in} or {@code out} has another length than the
   *     problem needs
   */
  public void reduce(ReductionProblem problem, HostMemory in, HostMemory out) {
    requireBytes("array", problem.shape().elements(), problem.type(), in);
    requireBytes("results", problem.outputShape().elements(), problem.outputType(), out);
    if (out.bytes() > 0) {
      runs.get(problem, Run::new).all(in, out);
    }
  }

  private static void requireBytes(
      String what, long elements, ElementType type, HostMemory memory) {
    long bytes = Math.multiplyExact(elements, (long) type.bytes());
    if (memory.bytes() != bytes) {
      throw new IllegalArgumentException(
          "The %s of a reduction: %s bytes; expected %s".formatted(what, memory.bytes(), bytes));
    }
  }

  /** A reduction made ready, which reduces one array after another. */
  private static final class Run {
    private final ReductionProblem problem;
    private final ReducedAxes axes;
    private final long length; // numbers of a sequence
    private final boolean alongRows; // sequences are along the innermost axis
    private final int mostRows; // most rows of a tile
    private final int mostColumns;
    private final int width;
    // The tile three times: in the element type of memory, as ints if that type is narrower, and in
    // the type of the computation; two or all may be one array.
    private final Object raw;
    private final Object widened;
    private final Object tile;
    private final Object branches; // sums of the branches of a tree
    private final Object others; // copy of the part that is combined with the first half of a tile
    private final List<Object> pieces = new ArrayList<>(); // by level above tiles: a row a tree
    private HostMemory in; // the array that is being reduced
    private HostMemory out;

    Run(ReductionProblem problem) {
      this.problem = problem;
      axes = ReducedAxes.of(problem);
      length = problem.shape().elements() == 0 ? 0 : ReducedAxes.count(axes.reduced());
      alongRows = axes.isInnermost(axes.reduced());
      mostRows = (int) Math.max(1, Math.min(length, alongRows ? ReductionProblem.TREE : ROWS));
      long results = ReducedAxes.count(axes.kept());
      if (alongRows && length > SHORT) {
        mostColumns = 1;
      } else {
        mostColumns = (int) Math.min(results, TILE / mostRows);
      }
      ElementType type = problem.type();
      ElementType computed = problem.computedIn();
      width = type.bytes();
      int numbers = mostRows * mostColumns;
      widened = HostNumbers.array(type, numbers);
      raw =
          type == ElementType.INT8
              ? new byte[numbers]
              : type == ElementType.INT16 ? new short[numbers] : widened;
      tile = type == computed ? widened : HostNumbers.array(computed, numbers);
      long mostCombined = Math.max(Math.max(mostRows, ROWS), count(0));
      int half = (int) Math.min(mostCombined, ReductionProblem.TREE) / 2;
      others = HostNumbers.array(computed, half * mostColumns);
      branches = HostNumbers.array(computed, ROWS * mostColumns);
      for (long left = count(0); left > 1; left = count(pieces.size())) {
        int most = (int) Math.min(left, ReductionProblem.TREE);
        pieces.add(HostNumbers.array(computed, most * mostColumns));
      }
    }

    void all(HostMemory from, HostMemory to) {
      in = from;
      out = to;
      long results = ReducedAxes.count(axes.kept());
      int columns;
      for (long first = 0; first < results; first += columns) {
        long left = results - first;
        // Unless sequences are along the innermost axis, only those are read together whose numbers
        // are neighbours in memory.
        long beside = alongRows ? left : ReducedAxes.runLength(axes.kept(), first);
        columns = (int) Math.min(Math.min(mostColumns, left), beside);
        if (length == 0) {
          out.slice(first * problem.outputType().bytes(), (long) columns * Long.BYTES)
              .fill((byte) 0); // only a sum can have no numbers
        } else if (problem.reduction().isPlace()) {
          places(first, columns);
        } else {
          combined(first, columns);
        }
      }
    }

    /**
     * The number of trees of a sequence at a level; trees of level 0 combine elements, others
     * combine the results of the level below.
     */
    private long count(int level) {
      long trees = length;
      for (int i = 0; i <= level; i++) {
        trees = Ceil.div(trees, ReductionProblem.TREE);
      }
      return trees;
    }

    /** Makes results by combining numbers in pairs. */
    private void combined(long first, int columns) {
      combine(function().hostLoop(problem.computedIn()), first, columns, pieces.size(), 0);
      store(first, columns);
    }

    /**
     * Combines one tree of a level in each of the sequences; afterwards the tile's first row has
     * the results.
     */
    private void combine(HostLoop loop, long first, int columns, int level, long tree) {
      long start = tree * ReductionProblem.TREE;
      if (level == 0) {
        int rows = (int) Math.min(ReductionProblem.TREE, length - start);
        if (alongRows) {
          fill(first, columns, start, rows, 1);
          halve(loop, tile, rows, columns);
        } else {
          combineRows(loop, first, columns, start, rows);
        }
        return;
      }
      Object values = pieces.get(level - 1);
      int rows = (int) Math.min(ReductionProblem.TREE, count(level - 1) - start);
      for (int row = 0; row < rows; row++) {
        combine(loop, first, columns, level - 1, start + row);
        System.arraycopy(tile, 0, values, row * columns, columns);
      }
      halve(loop, values, rows, columns);
      System.arraycopy(values, 0, tile, 0, columns);
    }

    private BinaryFunction function() {
      return switch (problem.reduction()) {
        case SUM -> BinaryFunction.ADD;
        case MINIMUM, ARGMIN -> BinaryFunction.MINIMUM;
        case MAXIMUM, ARGMAX -> BinaryFunction.MAXIMUM;
      };
    }

    /**
     * Combines one tree of each sequence: first each branch, which is every 32nd row from its own
     * number on, then the branches' results.
     */
    private void combineRows(HostLoop loop, long first, int columns, long start, int rows) {
      int count = Math.min(rows, ROWS);
      for (int branch = 0; branch < count; branch++) {
        int ofBranch = (int) Ceil.div(rows - branch, ROWS);
        fill(first, columns, start + branch, ofBranch, ROWS);
        halve(loop, tile, ofBranch, columns);
        System.arraycopy(tile, 0, branches, branch * columns, columns);
      }
      halve(loop, branches, count, columns);
      System.arraycopy(branches, 0, tile, 0, columns);
    }

    /**
     * Combines the first half of the rows with the second half, again and again, until one row is
     * left. The second half is copied to another array first, since the JVM does not vectorise a
     * loop within one array.
     */
    private void halve(HostLoop loop, Object values, int rows, int columns) {
      for (int left = rows; left > 1; ) {
        int half = Integer.highestOneBit(left - 1);
        int count = (left - half) * columns;
        System.arraycopy(values, half * columns, others, 0, count);
        loop.run(values, others, values, count);
        left = half;
      }
    }

    /** Makes results that are places: the place of the first extreme number of each sequence. */
    private void places(long first, int columns) {
      long[] places = new long[columns];
      boolean least = problem.reduction() == Reduction.ARGMIN;
      Object best = HostNumbers.array(problem.computedIn(), columns);
      for (long row = 0; row < length; row += mostRows) {
        int rows = (int) Math.min(mostRows, length - row);
        fill(first, columns, row, rows, 1);
        if (row == 0) {
          System.arraycopy(tile, 0, best, 0, columns);
        }
        for (int r = 0; r < rows; r++) {
          if (tile instanceof double[] values) {
            better(values, r * columns, (double[]) best, places, row + r, least);
          } else {
            better((long[]) tile, r * columns, (long[]) best, places, row + r, least);
          }
        }
      }
      HostMemory.ofArray(places).copyTo(out.slice(first * Long.BYTES, (long) columns * Long.BYTES));
    }

    private static void better(
        double[] values, int at, double[] best, long[] places, long place, boolean least) {
      for (int c = 0; c < best.length; c++) {
        double value = values[at + c];
        boolean beats = least ? value < best[c] : value > best[c];
        if (beats || (Double.isNaN(value) && !Double.isNaN(best[c]))) {
          best[c] = value;
          places[c] = place;
        }
      }
    }

    private static void better(
        long[] values, int at, long[] best, long[] places, long place, boolean least) {
      for (int c = 0; c < best.length; c++) {
        long value = values[at + c];
        if (least ? value < best[c] : value > best[c]) {
          best[c] = value;
          places[c] = place;
        }
      }
    }

    /**
     * Reads {@code rows} numbers of each sequence from number {@code first} on into the tile: every
     * {@code step}th, from number {@code row} on. The step is 1 for sequences along the innermost
     * axis.
     */
    private void fill(long first, int columns, long row, int rows, int step) {
      if (alongRows) {
        for (int c = 0; c < columns; c++) {
          readSequence(ReducedAxes.offset(axes.kept(), first + c), c, columns, row, rows);
        }
      } else {
        long start = ReducedAxes.offset(axes.kept(), first);
        for (int r = 0; r < rows; r++) {
          long from = start + ReducedAxes.offset(axes.reduced(), row + (long) r * step);
          copy(from, r * columns, columns);
        }
      }
      int numbers = rows * columns;
      HostNumbers.widen(raw, widened, numbers);
      if (tile != widened) {
        HostNumbers.cast(widened, problem.computedIn(), tile, numbers);
      }
    }

    /**
     * Reads {@code rows} numbers of one sequence, from number {@code row} on, into a column of the
     * tile, run by run.
     */
    private void readSequence(long start, int column, int columns, long row, int rows) {
      int run;
      for (int r = 0; r < rows; r += run) {
        long from = start + ReducedAxes.offset(axes.reduced(), row + r);
        run = (int) Math.min(rows - r, ReducedAxes.runLength(axes.reduced(), row + r));
        if (columns == 1) {
          copy(from, r, run);
        } else {
          for (int i = 0; i < run; i++) {
            copyOne(from + i, (r + i) * columns + column);
          }
        }
      }
    }

    private void copy(long from, int to, int count) {
      UNSAFE.copyMemory(
          in.base(),
          in.offset() + from * width,
          raw,
          BASE + (long) to * width,
          (long) count * width);
    }

    private void copyOne(long from, int to) {
      long source = in.offset() + from * width;
      long target = BASE + (long) to * width;
      switch (width) {
        case 1 -> UNSAFE.putByte(raw, target, UNSAFE.getByte(in.base(), source));
        case 2 -> UNSAFE.putShort(raw, target, UNSAFE.getShort(in.base(), source));
        case 4 -> UNSAFE.putInt(raw, target, UNSAFE.getInt(in.base(), source));
        default -> UNSAFE.putLong(raw, target, UNSAFE.getLong(in.base(), source));
      }
    }

    /** Writes the tile's first row as the results of the sequences from number {@code first} on. */
    private void store(long first, int columns) {
      int bytes = problem.outputType().bytes();
      Object from = bytes < Integer.BYTES ? raw : tile;
      HostNumbers.narrow(tile, from, columns);
      HostMemory target = out.slice(first * bytes, (long) columns * bytes);
      UNSAFE.copyMemory(from, BASE, target.base(), target.offset(), target.bytes());
    }
  }
}
