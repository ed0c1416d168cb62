package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;

/**
 * Selects the rows of one task from all rows, and checks the blocks of whole arrays: a single array
 * in every task, each of several arrays in one task.
 *
 * @param schema schema of the rows
 * @param shares partitioning that gives the task which takes a row
 * @param checks partitioning that gives the task which checks a row's array; empty if each task
 *     checks all arrays
 * @param grid the tiling that the blocks of each array must be; empty for no check
 * @param places ordinals of the blocks' offsets, then of their sizes; empty without {@code grid}
 * @param further ordinals of the columns that distinguish arrays
 */
record GatheredRows(
    StructType schema,
    BoundPartitioning shares,
    Option<BoundPartitioning> checks,
    Option<GridCheck> grid,
    List<Integer> places,
    List<Integer> further)
    implements Serializable {

  /**
   * The rows that each task takes.
   *
   * @param all RDD of which every partition has all rows
   */
  RDD<InternalRow> of(RDD<InternalRow> all) {
    return all.mapPartitionsWithIndex(
        ScalaInterop.function2(
            (task, rows) ->
                PartitionBoundary.<InternalRow, InternalRow>over(
                    rows, each -> new OfTask((Integer) task, each))),
        true,
        ScalaInterop.classTag(InternalRow.class));
  }

  /** Selects the rows of one task. Used by one thread. */
  private final class OfTask implements Iterator<InternalRow> {
    private final int task;
    private final Iterator<InternalRow> all;
    private final ToIntFunction<InternalRow> taskOf = shares.partitionOf();
    private final RowKeys keys = RowKeys.at(schema, further);
    private final TreeMap<UnsafeRow, BoxList> arrays = new TreeMap<>(keys::compare);
    private final ToIntFunction<InternalRow> checkerOf;
    private InternalRow next; // the row that comes next; null before it is looked for
    private boolean isChecked; // true after all arrays were checked

    OfTask(int task, Iterator<InternalRow> all) {
      this.task = task;
      this.all = all;
      this.checkerOf = checks.isEmpty() ? row -> task : checks.get().partitionOf();
    }

    @Override
    public boolean hasNext() {
      while (next == null && all.hasNext()) {
        InternalRow row = all.next();
        if (grid.isDefined() && checkerOf.applyAsInt(row) == task) {
          check(row);
        }
        next = taskOf.applyAsInt(row) == task ? row : null;
      }
      if (next == null && !isChecked) {
        isChecked = true;
        arrays.values().forEach(this::checkAll);
      }
      return next != null;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      InternalRow row = next;
      next = null;
      return row;
    }

    private void check(InternalRow row) {
      long[] box = grid.get().check(row, places);
      UnsafeRow key = keys.of(row);
      BoxList boxes = arrays.get(key);
      if (boxes == null) {
        boxes = new BoxList(grid.get().kind().rank());
        arrays.put(key.copy(), boxes);
      }
      boxes.add(box);
    }

    private void checkAll(BoxList boxes) {
      grid.get().checkAll(boxes);
    }
  }
}
