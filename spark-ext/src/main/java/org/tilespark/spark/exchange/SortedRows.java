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
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.RetainableRows;
import scala.collection.immutable.Seq;
import scala.math.Ordering;

/**
 * Sorts the rows of a partition inside the task that needs them sorted. Rows that stay in memory
 * are ordered by pointers, without a copy, and stay; others by Spark's external sorter, which
 * spills and never holds a partition on the heap.
 *
 * @param schema of the rows
 * @param order over {@link org.apache.spark.sql.catalyst.expressions.BoundReference}s
 */
record SortedRows(StructType schema, Seq<SortOrder> order) implements Serializable {

  /** The rows in order. Each is valid until the next is asked for. */
  Iterator<InternalRow> of(Iterator<InternalRow> rows) {
    if (!rows.hasNext()) {
      return rows;
    }
    Ordering<InternalRow> ordering = RowOrder.of(order);
    UnsafeRow first = (UnsafeRow) rows.next();
    return RetainableRows.retain(first)
        ? inPlace(first, rows, ordering)
        : copied(first, rows, ordering);
  }

  private static Iterator<InternalRow> inPlace(
      UnsafeRow first, Iterator<InternalRow> rows, Ordering<InternalRow> ordering) {
    List<InternalRow> views = new ArrayList<>();
    views.add(view(first));
    rows.forEachRemaining(row -> views.add(view((UnsafeRow) row)));
    views.sort(ordering);
    RetainableRows.given(views.get(0), () -> true, TaskContext.get());
    return views.iterator();
  }

  private static UnsafeRow view(UnsafeRow row) {
    UnsafeRow view = new UnsafeRow(row.numFields());
    view.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
    return view;
  }

  private Iterator<InternalRow> copied(
      UnsafeRow first, Iterator<InternalRow> rows, Ordering<InternalRow> ordering) {
    try {
      UnsafeExternalRowSorter sorter =
          UnsafeExternalRowSorter.create(
              schema,
              ordering,
              PrefixComparators.LONG,
              new NoPrefix(),
              SparkEnv.get().memoryManager().pageSizeBytes(),
              false);
      sorter.insertRow(first);
      while (rows.hasNext()) {
        sorter.insertRow((UnsafeRow) rows.next());
      }
      return ScalaInterop.iterator(sorter.sort());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Rows are few and large: comparing them costs nothing beside moving them. */
  private static final class NoPrefix extends UnsafeExternalRowSorter.PrefixComputer {
    private final Prefix prefix = new Prefix();

    @Override
    public Prefix computePrefix(InternalRow row) {
      return prefix;
    }
  }
}
