package org.tilespark.spark.exchange;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeExternalRowSorter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.MergedRows;
import org.tilespark.spark.rows.RetainableRows;
import org.tilespark.spark.rows.RetainedRows;
import org.tilespark.spark.rows.SharedUse;
import scala.collection.immutable.Seq;
import scala.math.Ordering;

/**
 * Sorts the rows of a partition inside the task that needs them sorted. Rows that can be retained
 * are ordered by pointers, without a copy; others by Spark's external sorter, which spills instead
 * of holding a partition on the heap. A partition may have both kinds of rows.
 *
 * @param schema schema of the rows
 * @param order order over {@link org.apache.spark.sql.catalyst.expressions.BoundReference}s
 */
record SortedRows(StructType schema, Seq<SortOrder> order) implements Serializable {

  /** The rows of a partition in order. Each is valid until the next is requested. */
  Iterator<InternalRow> of(Iterator<InternalRow> rows) {
    if (!rows.hasNext()) {
      return rows;
    }
    Ordering<InternalRow> ordering = RowOrder.of(order);
    TaskContext task = TaskContext.get();
    RetainedRows retained = new RetainedRows();
    SharedUse memory = new SharedUse(retained::close);
    task.addTaskCompletionListener((TaskCompletionListener) ended -> memory.close());
    List<UnsafeRow> views = new ArrayList<>();
    // Sorter of copied rows; null while all rows are retained.
    UnsafeExternalRowSorter copies = null;
    try {
      while (rows.hasNext()) {
        UnsafeRow row = (UnsafeRow) rows.next();
        if (retained.retains(row)) {
          views.add(view(row));
        } else {
          copies = copies == null ? newSorter(ordering) : copies;
          copies.insertRow(row);
        }
      }
      views.sort(ordering);
      Iterator<InternalRow> inPlace = new Views(views, memory, task);
      if (copies == null) {
        return inPlace;
      }
      Iterator<InternalRow> copied = ScalaInterop.iterator(copies.sort());
      return views.isEmpty() ? copied : new MergedRows(inPlace, copied, ordering);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static UnsafeRow view(UnsafeRow row) {
    UnsafeRow view = new UnsafeRow(row.numFields());
    view.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
    return view;
  }

  /**
   * Iterates over retained rows with one reused row object, of which readers can retain the memory
   * again.
   */
  private static final class Views implements Iterator<InternalRow> {
    private final Iterator<UnsafeRow> views;
    private final SharedUse memory;
    private final TaskContext task;
    private UnsafeRow given; // the reused row object; null before the first row

    Views(List<UnsafeRow> views, SharedUse memory, TaskContext task) {
      this.views = views.iterator();
      this.memory = memory;
      this.task = task;
    }

    @Override
    public boolean hasNext() {
      return views.hasNext();
    }

    @Override
    public InternalRow next() {
      UnsafeRow view = views.next();
      if (given == null || given.numFields() != view.numFields()) {
        given = new UnsafeRow(view.numFields());
        RetainableRows.given(given, memory::begin, task);
      }
      given.pointTo(view.getBaseObject(), view.getBaseOffset(), view.getSizeInBytes());
      return given;
    }
  }

  private UnsafeExternalRowSorter newSorter(Ordering<InternalRow> ordering) throws IOException {
    return UnsafeExternalRowSorter.create(
        schema,
        ordering,
        PrefixComparators.LONG,
        new NoPrefix(),
        SparkEnv.get().memoryManager().pageSizeBytes(),
        false);
  }

  /**
   * A constant prefix: rows are few and large, so comparing them is cheap relative to moving them.
   */
  private static final class NoPrefix extends UnsafeExternalRowSorter.PrefixComputer {
    private final Prefix prefix = new Prefix();

    @Override
    public Prefix computePrefix(InternalRow row) {
      return prefix;
    }
  }
}
