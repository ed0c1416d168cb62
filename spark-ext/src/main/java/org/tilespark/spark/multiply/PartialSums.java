package org.tilespark.spark.multiply;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.kernels.host.HostElementwise;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.Coverage;
import org.tilespark.spark.block.StaleMetadata;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.ArrayRowWriter;
import sun.misc.Unsafe;

/**
 * Adds partial products to blocks of C. They are sorted by block, by their start along K, and by
 * place, so that sums have the same bits in every run. A partial product is any rectangle of its
 * block over any range of K; together they must cover each element of the block and each step of K
 * exactly once. Holds one block of C. A row is valid until the next one.
 */
final class PartialSums implements Iterator<InternalRow> {
  private static final int RANK = 3; // row, col, and K

  private final PanelTask.Job job;
  private final MultiplySpec spec;
  private final Strategy strategy;
  private final Iterator<InternalRow> partials;
  private final UnsafeProjection groupOf;
  private final UnsafeProjection heads;
  private final ArrayRowWriter writer;
  private final HostElementwise elementwise = new HostElementwise();
  private final BoxList parts = new BoxList(RANK); // boxes of the current block's partial products
  private InternalRow partial; // the next partial product; null at the end

  PartialSums(PanelTask.Job job, Strategy strategy, Iterator<InternalRow> partials) {
    this.job = job;
    this.spec = job.spec();
    this.strategy = strategy;
    this.partials = partials;
    this.groupOf = job.groups(PieceColumns.PARTIAL_COUNT);
    this.heads = job.heads(PieceColumns.PARTIAL_COUNT);
    this.writer = job.writer();
    this.partial = partials.hasNext() ? partials.next() : null;
  }

  @Override
  public boolean hasNext() {
    return partial != null;
  }

  @Override
  public InternalRow next() {
    if (partial == null) {
      throw new NoSuchElementException();
    }
    long row = partial.getLong(PieceColumns.CELL_ROW);
    long col = partial.getLong(PieceColumns.CELL_COL);
    long rows = Math.min(spec.blockRows(), spec.m() - row);
    long cols = Math.min(spec.blockCols(), spec.n() - col);
    UnsafeRow group = groupOf.apply(partial).copy();
    HostMemory total = writer.start(heads.apply(partial), rows * cols);
    UnsafeRow out = writer.row();
    out.setLong(Column.ROW.ordinal(), row);
    out.setLong(Column.COL.ordinal(), col);
    out.setInt(Column.ROWS.ordinal(), Math.toIntExact(rows));
    out.setInt(Column.COLS.ordinal(), Math.toIntExact(cols));
    boolean begun = false; // true once total holds a sum
    parts.clear();
    do {
      if (partial.getLong(PieceColumns.PART) != PieceColumns.MARK) {
        note();
        if (!begun
            && partial.getInt(Column.ROWS.ordinal()) == rows
            && partial.getInt(Column.COLS.ordinal()) == cols) {
          values().copyTo(total); // the usual case: partial products are as large as the block
        } else {
          if (!begun) {
            total.fill((byte) 0);
          }
          add(row, col, cols, total);
        }
        begun = true;
      }
      partial = partials.hasNext() ? partials.next() : null;
    } while (partial != null
        && partial.getLong(PieceColumns.CELL_ROW) == row
        && partial.getLong(PieceColumns.CELL_COL) == col
        && groupOf.apply(partial).equals(group));
    if (!begun) {
      total.fill((byte) 0);
    }
    checkParts(row, col, rows, cols, group);
    elementwise.run(job.epilogue(), Shape.of(rows, cols), total);
    return out;
  }

  private HostMemory values() {
    return ArrayValues.memory(partial.getArray(Column.VALUES.ordinal()), spec.type());
  }

  /** Adds the box of the current partial product to {@link #parts}. */
  private void note() {
    parts.add(
        new long[] {
          partial.getLong(Column.ROW.ordinal()),
          partial.getLong(Column.COL.ordinal()),
          partial.getLong(PieceColumns.PART)
        },
        new long[] {
          partial.getInt(Column.ROWS.ordinal()),
          partial.getInt(Column.COLS.ordinal()),
          partial.getLong(PieceColumns.PART_EXTENT)
        });
  }

  /** Adds the current partial product to the block at {@code row}, {@code col}. */
  private void add(long row, long col, long cols, HostMemory total) {
    HostMemory from = values();
    long height = partial.getInt(Column.ROWS.ordinal());
    long width = partial.getInt(Column.COLS.ordinal());
    int bytes = spec.type().bytes();
    long to =
        ((partial.getLong(Column.ROW.ordinal()) - row) * cols
                + (partial.getLong(Column.COL.ordinal()) - col))
            * bytes;
    if (width == cols) {
      add(from, 0, total, to, height * width * bytes);
      return;
    }
    for (long i = 0; i < height; i++) {
      add(from, i * width * bytes, total, to + i * cols * bytes, width * bytes);
    }
  }

  private void add(HostMemory from, long fromStart, HostMemory to, long toStart, long length) {
    HostMemory terms = from.slice(fromStart, length);
    HostMemory sums = to.slice(toStart, length);
    Unsafe unsafe = HostMemory.unsafe();
    if (spec.type() == ElementType.FLOAT32) {
      for (long at = 0; at < length; at += Float.BYTES) {
        unsafe.putFloat(
            sums.base(),
            sums.offset() + at,
            unsafe.getFloat(sums.base(), sums.offset() + at)
                + unsafe.getFloat(terms.base(), terms.offset() + at));
      }
    } else {
      for (long at = 0; at < length; at += Double.BYTES) {
        unsafe.putDouble(
            sums.base(),
            sums.offset() + at,
            unsafe.getDouble(sums.base(), sums.offset() + at)
                + unsafe.getDouble(terms.base(), terms.offset() + at));
      }
    }
  }

  /** Checks that the partial products cover the whole block for all of K. */
  private void checkParts(long row, long col, long rows, long cols, UnsafeRow group) {
    long[] found = parts.toArray();
    Coverage.check(
        new long[] {row, col, 0},
        new long[] {row + rows, col + cols, spec.k()},
        found,
        new Coverage.Findings() {
          @Override
          public boolean hole(long[] low, long[] high) {
            if (spec.result().missing() == Missing.ZERO) {
              return true;
            }
            throw missing(low, high, group);
          }

          @Override
          public boolean overlap(int first, int second) {
            throw overlapping(Coverage.sharedElement(RANK, found, first, second), group);
          }
        });
  }

  private IllegalArgumentException missing(long[] low, long[] high, UnsafeRow group) {
    if (!strategy.isBroadcast()) {
      return new IllegalArgumentException(
          ("%s: block at row %s, col %s of the result%s lacks what the inner dimension"
                  + " gives from %s to %s: blocks of both A and B are missing there. With"
                  + " missing=zero what is missing counts as zeros; %s")
              .formatted(
                  spec.operator(),
                  low[0],
                  low[1],
                  job.groupText(group),
                  low[2],
                  high[2],
                  StaleMetadata.HELP));
    }
    boolean right = strategy == Strategy.BROADCAST_LEFT;
    return OperandDefects.holeAt(
        spec, right, job.groupText(group), right ? low[1] : low[0], low[2]);
  }

  private RuntimeException overlapping(long[] shared, UnsafeRow group) {
    if (!strategy.isBroadcast()) {
      return new IllegalStateException(
          ("Two parts of the result at row %s, col %s, inner index %s; please report"
                  + " this with the plan")
              .formatted(shared[0], shared[1], shared[2]));
    }
    boolean right = strategy == Strategy.BROADCAST_LEFT;
    return OperandDefects.twiceAt(
        spec, right, job.groupText(group), right ? shared[1] : shared[0], shared[2]);
  }
}
