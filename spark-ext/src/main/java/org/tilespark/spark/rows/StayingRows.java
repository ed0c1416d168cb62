package org.tilespark.spark.rows;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Finds out whether the rows of a partition can stay where they are. Spark's iterators promise a
 * row until the next one is asked for; a reader whose rows are views of memory can promise more,
 * and is known by the row object that it hands out again and again. Thread-safe.
 */
public final class StayingRows {
  /** Gives rows of which it can keep the memory. */
  public interface Keeper {
    /**
     * Keeps the memory of the row that was given last and of all that come, until the task ends.
     * Called on the task's thread, after the first row.
     *
     * @return false if there is not enough memory for that; all is as before then
     */
    boolean keep();
  }

  private static final Map<InternalRow, Keeper> KEEPERS =
      Collections.synchronizedMap(new IdentityHashMap<>());

  private StayingRows() {}

  /** Says who gives {@code row}, for as long as the task runs. */
  public static void given(InternalRow row, Keeper keeper, TaskContext task) {
    KEEPERS.put(row, keeper);
    task.addTaskCompletionListener((TaskCompletionListener) ended -> KEEPERS.remove(row));
  }

  /** True if what {@code first} and the rows behind it point to stays until the task ends. */
  public static boolean keep(InternalRow first) {
    return keeper(first).keep();
  }

  /** Who keeps {@code first} and the rows behind it; one that keeps nothing if nobody said so. */
  public static Keeper keeper(InternalRow first) {
    return KEEPERS.getOrDefault(first, () -> false);
  }
}
