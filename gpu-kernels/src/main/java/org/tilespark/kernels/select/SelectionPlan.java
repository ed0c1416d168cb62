package org.tilespark.kernels.select;

import java.util.Optional;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex.Kernel;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import sun.misc.Unsafe;

/**
 * The launch of a device's selection of columns, and the layout of its memory. The bounds are
 * consecutive arrays of DOUBLE: for rows the norms, errors, least and the lower limit of estimates;
 * for columns scale, shift, perNorm, errors and norms. The result begins with the count of columns
 * found (BIGINT), which may exceed the capacity. Then follow, for each row and segment of columns,
 * the place of the first one and their count (INT), then the columns (INT).
 *
 * @param rows number of the tile's rows
 * @param cols number of the tile's columns
 * @param segments number of segments of a row's columns; a thread block searches one segment
 * @param capacity number of found columns for which the result has room
 */
public record SelectionPlan(int rows, int cols, int segments, int capacity) {
  private static final String FAMILY = "select_columns";

  /** Columns of a segment; kernels with segments of another size are not used. */
  private static final int SEGMENT = 4096;

  /**
   * Elements of a tile for each column for which the result has room: with more columns selected,
   * downloading the whole tile is faster.
   */
  private static final int ELEMENTS_PER_COLUMN = 16;

  /**
   * The least capacity, unless the tile has fewer elements: small tiles have room for all columns.
   */
  private static final int LEAST_CAPACITY = 1 << 16;

  private static final int BLOCKS_PER_PROCESSOR = 16;
  private static final int ROW_ARRAYS = 4;
  private static final int COLUMN_ARRAYS = 5;
  private static final Unsafe UNSAFE = HostMemory.unsafe();

  /** The plan for a tile of these extents, each 1 or more. */
  public static SelectionPlan of(int rows, int cols) {
    long elements = (long) rows * cols;
    long capacity = Math.min(elements, Math.max(LEAST_CAPACITY, elements / ELEMENTS_PER_COLUMN));
    return new SelectionPlan(
        rows, cols, (int) Ceil.div(cols, SEGMENT), (int) Math.min(capacity, Integer.MAX_VALUE));
  }

  /** Bytes of a selection's bounds. */
  public long boundsBytes() {
    return ((long) ROW_ARRAYS * rows + (long) COLUMN_ARRAYS * cols) * Double.BYTES;
  }

  /** Bytes of the result's beginning: everything before the columns found. */
  public long headBytes() {
    return Long.BYTES + 2L * Integer.BYTES * rows * segments;
  }

  /** Bytes of the result. */
  public long foundBytes() {
    return headBytes() + (long) Integer.BYTES * capacity;
  }

  /** Writes a selection's bounds to the start of {@code to}. */
  public void putBounds(ColumnSelection selection, HostMemory to) {
    ColumnSelection.Rows byRow = selection.rows();
    ColumnSelection.Columns byColumn = selection.columns();
    double[] pass = new double[rows];
    for (int row = 0; row < rows; row++) {
      pass[row] = byRow.least()[row] - selection.widest(row);
    }
    double[][] all = {
      byRow.norms(),
      byRow.errors(),
      byRow.least(),
      pass,
      byColumn.scale(),
      byColumn.shift(),
      byColumn.perNorm(),
      byColumn.errors(),
      byColumn.norms()
    };
    long at = 0;
    for (int i = 0; i < all.length; i++) {
      long bytes = (i < ROW_ARRAYS ? rows : cols) * (long) Double.BYTES;
      HostMemory.ofArray(all[i]).slice(0, bytes).copyTo(to.slice(at, bytes));
      at += bytes;
    }
  }

  /** The kernel for tiles of a type; empty if this jar has none for the device. */
  public static Optional<Kernel> kernel(ElementType type, DeviceKernels device) {
    return device.findAll(FAMILY, type.bytes()).stream()
        .filter(each -> each.shape().cols() == SEGMENT)
        .findFirst();
  }

  /**
   * The launch; its pointers are those of the tile, the bounds and the result, whose count must be
   * 0 before the launch.
   *
   * @throws UnsupportedOperationException if there is no {@link #kernel}
   */
  public KernelLaunch launch(ColumnSelection selection, DeviceKernels device) {
    Kernel kernel =
        kernel(selection.type(), device)
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "This jar has no kernel that selects columns of %s on %s"
                            .formatted(selection.type(), device.limits().architecture())));
    long blocks =
        Math.min(
            (long) rows * segments,
            (long) BLOCKS_PER_PROCESSOR * device.limits().multiprocessors());
    // Fields of SelectArguments after the three pointers.
    return new KernelLaunch(
        kernel.name(),
        LaunchConfig.forPieces(blocks, kernel.shape().threads(), 0, device.limits()),
        rows,
        cols,
        selection.wanted(),
        capacity,
        Double.doubleToRawLongBits(selection.largest()));
  }

  /**
   * The number of columns found, which may exceed the capacity; {@code head} is the result's
   * beginning, of {@link #headBytes} bytes.
   */
  public static long count(HostMemory head) {
    return UNSAFE.getLong(head.base(), head.offset());
  }

  /**
   * The selected columns.
   *
   * @param found the result's memory: {@link #headBytes} bytes, then the columns
   */
  public SelectedColumns columns(HostMemory found) {
    return new Found(found);
  }

  private final class Found implements SelectedColumns {
    private final HostMemory memory;
    private int row;

    Found(HostMemory memory) {
      this.memory = memory;
    }

    private int number(long index) {
      return UNSAFE.getInt(memory.base(), memory.offset() + Long.BYTES + Integer.BYTES * index);
    }

    private long head(int segment) {
      return 2 * ((long) row * segments + segment);
    }

    @Override
    public int select(int newRow) {
      row = newRow;
      int count = 0;
      for (int i = 0; i < segments; i++) {
        count += number(head(i) + 1);
      }
      return count;
    }

    @Override
    public int column(int index) {
      int segment = 0;
      int left = index;
      for (int here = number(head(0) + 1); left >= here; here = number(head(segment) + 1)) {
        left -= here;
        segment++;
      }
      return number(2L * rows * segments + number(head(segment)) + left);
    }
  }
}
