package org.tilespark.spark.exchange;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.types.StructType;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.AxisImages;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.UsualShape;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.rows.BlockRowBuilder;

/**
 * Makes the marks of the target blocks ({@link MarkCells}) of the arrays that are the rows of one
 * partition.
 *
 * @param extents ordinals of the arrays' extents in the child's rows
 * @param groups ordinals of the grouping columns in the child's rows, in the order of the output
 * @param output schema of the marks: keys, block columns, grouping columns
 */
record MarkTask(AssembleSpec spec, List<Integer> extents, List<Integer> groups, StructType output)
    implements PartitionTask<InternalRow, InternalRow> {
  @Override
  public Iterator<InternalRow> open(Iterator<InternalRow> arrays) {
    return new Marks(arrays);
  }

  private final class Marks implements Iterator<InternalRow> {
    private final Iterator<InternalRow> arrays;
    private final int rank = spec.kind().rank();
    private final BlockRowBuilder builder;
    // The cells of the current array.
    private final PieceCursor cells = new PieceCursor(spec.grid());
    // Bounds of the current cell's block, if there are images: it may be larger than the cell.
    private final long[] low = new long[rank];
    private final long[] high = new long[rank];
    private boolean pending; // true if the cursor is at a cell whose mark comes next

    private Marks(Iterator<InternalRow> arrays) {
      this.arrays = arrays;
      BlockSchema blocks = BlockSchema.find(output, spec.kind(), spec.operator());
      int[] further =
          IntStream.range(rank, output.length())
              .filter(position -> !blocks.blockColumns().contains(position))
              .toArray();
      this.builder =
          new BlockRowBuilder(
              output,
              blocks,
              IntStream.range(0, rank).toArray(),
              position -> {
                int group = Arrays.binarySearch(further, position);
                return new BoundReference(
                    groups.get(group), output.fields()[position].dataType(), true);
              });
    }

    @Override
    public boolean hasNext() {
      pending = pending || cells.advance();
      while (!pending && arrays.hasNext()) {
        pending = start(arrays.next()) && cells.advance();
      }
      return pending;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      pending = false;
      if (spec.images().isDefined()) {
        for (int axis = 0; axis < rank; axis++) {
          AxisImages images = spec.images().get().axes().get(axis);
          low[axis] = images.low(cells.part()[axis]);
          high[axis] = images.high(cells.part()[axis]);
        }
        builder.beginWithoutValues(low, high);
      } else {
        builder.beginWithoutValues(cells.low(), cells.high());
      }
      for (int axis = 0; axis < rank; axis++) {
        builder.set(axis, cells.low()[axis], true);
      }
      return builder.row();
    }

    /** Starts with the cells of an array; false if the array has none. */
    private boolean start(InternalRow array) {
      double count = 1;
      long[] extent = new long[rank];
      for (int axis = 0; axis < rank; axis++) {
        int ordinal = extents.get(axis);
        extent[axis] = array.isNullAt(ordinal) ? 0 : array.getLong(ordinal);
        long block = spec.grid().axis(axis).largest();
        count *= AxisCuts.every(block, Math.max(0, extent[axis])).parts();
      }
      if (count > UsualShape.MOST_BLOCKS) {
        throw new IllegalArgumentException(
            spec.operator()
                + ": an array of extents "
                + Arrays.toString(extent)
                + " would have "
                + (long) count
                + " target blocks; expected at most "
                + UsualShape.MOST_BLOCKS
                + ". Use larger blocks, or see with validate whether a block lies far out");
      }
      builder.carry(array);
      if (count > 0) {
        cells.start(new long[rank], extent);
      }
      return count > 0;
    }
  }
}
