package org.tilespark.spark.rows;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Rows whose memory their consumers can retain. Spark's iterators guarantee a row until the next
 * one is requested; a reader whose rows are views of memory can guarantee more, and is identified
 * by the row object that it reuses. A partition may mix rows of several readers, so consumers check
 * each row with {@link RetainedRows}. Thread-safe.
 */
public final class RetainableRows {
  /** Owns the memory of the rows that it gives. */
  public interface Owner {
    /**
     * Retains the memory of the row given last and of all rows that this owner still gives. Called
     * on the task's thread, after the first row.
     *
     * @return a use that the caller closes; empty if there is not enough memory; then no state has
     *     changed
     */
    Optional<Use> retain();
  }

  /** Keeps memory alive until it is closed, also beyond the end of the owner's task. */
  public interface Use extends AutoCloseable {
    @Override
    void close();
  }

  private static final Map<InternalRow, Owner> OWNERS =
      Collections.synchronizedMap(new IdentityHashMap<>());

  private RetainableRows() {}

  /** Registers the owner of {@code row} until the task ends. */
  public static void given(InternalRow row, Owner owner, TaskContext task) {
    OWNERS.put(row, owner);
    task.addTaskCompletionListener((TaskCompletionListener) ended -> OWNERS.remove(row));
  }

  /** The owner of {@code row}; empty if the row has only the guarantee of Spark's iterators. */
  public static Optional<Owner> owner(InternalRow row) {
    return Optional.ofNullable(OWNERS.get(row));
  }
}
