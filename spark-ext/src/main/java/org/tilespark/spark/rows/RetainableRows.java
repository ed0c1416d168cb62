package org.tilespark.spark.rows;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Rows whose memory can be retained by who reads them. Spark's iterators promise a row until the
 * next one is asked for; a reader whose rows are views of memory can promise more, and is known by
 * the row object that it hands out again and again. A partition may mix rows of several readers, so
 * consumers ask for each row, by {@link RetainedRows}. Thread-safe.
 */
public final class RetainableRows {
  /** Owns the memory of the rows that it gives. */
  public interface Owner {
    /**
     * Retains the memory of the row that was given last and of all that come from this owner.
     * Called on the task's thread, after the first row.
     *
     * @return a use that the caller closes; empty if there is not enough memory for that: all is as
     *     before then
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

  /** Names the owner of {@code row}, for as long as the task runs. */
  public static void given(InternalRow row, Owner owner, TaskContext task) {
    OWNERS.put(row, owner);
    task.addTaskCompletionListener((TaskCompletionListener) ended -> OWNERS.remove(row));
  }

  /** The owner of {@code row}; empty if nobody promises more than Spark's iterators do. */
  public static Optional<Owner> owner(InternalRow row) {
    return Optional.ofNullable(OWNERS.get(row));
  }
}
