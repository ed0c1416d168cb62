package org.tilespark.spark.rows;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Rows whose memory can be retained until their task ends, and who retains it. Spark's iterators
 * promise a row until the next one is asked for; a reader whose rows are views of memory can
 * promise more, and is known by the row object that it hands out again and again. Thread-safe.
 */
public final class RetainableRows {
  /** Owns the memory of the rows that it gives. */
  public interface Owner {
    /**
     * Retains the memory of the row that was given last and of all that come, until the task ends.
     * Called on the task's thread, after the first row.
     *
     * @return false if there is not enough memory for that; all is as before then
     */
    boolean retain();
  }

  private static final Map<InternalRow, Owner> OWNERS =
      Collections.synchronizedMap(new IdentityHashMap<>());

  private RetainableRows() {}

  /** Names the owner of {@code row}, for as long as the task runs. */
  public static void given(InternalRow row, Owner owner, TaskContext task) {
    OWNERS.put(row, owner);
    task.addTaskCompletionListener((TaskCompletionListener) ended -> OWNERS.remove(row));
  }

  /** Retains what {@code first} and the rows after it point to until the task ends, if it can. */
  public static boolean retain(InternalRow first) {
    return owner(first).retain();
  }

  /**
   * The owner of {@code first} and the rows after it; one that retains nothing if none is known.
   */
  public static Owner owner(InternalRow first) {
    return OWNERS.getOrDefault(first, () -> false);
  }
}
