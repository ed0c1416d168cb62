package org.tilespark.kernels.host;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * Selects columns on the CPU, on the calling thread: one row at a time, when the caller moves to
 * that row.
 */
public final class HostSelection implements SelectedColumns {
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final ColumnSelection selection;
  private final HostMemory tile;
  private final int[] found;
  private final double[] bounds; // estimate plus error of the columns found
  // The largest values of estimate minus error, as a heap whose first value is the least
  private final double[] heap;
  private int held; // how many values the heap holds

  /**
   * A selection on a tile.
   *
   * @param tile the tile (rows, columns), row-major; borrowed
   */
  public HostSelection(ColumnSelection selection, HostMemory tile) {
    this.selection = selection;
    this.tile = tile;
    int cols = selection.columns().count();
    this.found = new int[cols];
    this.bounds = new double[cols];
    this.heap = new double[selection.wanted() <= cols ? selection.wanted() : 0];
  }

  @Override
  public int select(int row) {
    double least = selection.rows().least()[row];
    double widest = selection.widest(row);
    double pass = least - widest; // columns of lower estimates are out, whatever their error
    boolean single = selection.type() == ElementType.FLOAT32;
    int width = selection.type().bytes();
    int cols = selection.columns().count();
    double[] scale = selection.columns().scale();
    double[] shift = selection.columns().shift();
    Object base = tile.base();
    long at = tile.offset() + (long) row * cols * width;
    held = 0;
    int count = 0;
    for (int col = 0; col < cols; col++, at += width) {
      double element = single ? UNSAFE.getFloat(base, at) : UNSAFE.getDouble(base, at);
      double estimate = element * scale[col] + shift[col];
      if (estimate < pass) {
        continue; // most columns end here; NaN does not
      }
      double error = selection.error(row, col);
      if (estimate + error < least) {
        continue;
      }
      found[count] = col;
      bounds[count++] = estimate + error;
      if (heap.length > 0 && estimate - error > least) {
        offer(estimate - error);
        least = held < heap.length ? least : Math.max(least, heap[0]);
        pass = least - widest;
      }
    }
    return heap.length > 0 ? above(least, count) : count;
  }

  /** Puts a number into the heap if it is among the largest. */
  private void offer(double number) {
    if (held < heap.length) {
      int at = held++;
      while (at > 0 && heap[(at - 1) / 2] > number) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
      }
      heap[at] = number;
    } else if (number > heap[0]) {
      int at = 0;
      for (int child = 1; child < held; child = 2 * at + 1) {
        child += child + 1 < held && heap[child + 1] < heap[child] ? 1 : 0;
        if (number <= heap[child]) {
          break;
        }
        heap[at] = heap[child];
        at = child;
      }
      heap[at] = number;
    }
  }

  /**
   * Keeps, of the first {@code count} columns found, those whose estimate plus error is not below
   * {@code least}; returns their number.
   */
  private int above(double least, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
      if (!(bounds[i] < least)) {
        found[kept++] = found[i];
      }
    }
    return kept;
  }

  @Override
  public int column(int index) {
    return found[index];
  }
}
