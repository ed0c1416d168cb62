package org.tilespark.spark.rows;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.spark.rows.RetainableRows.Use;

/**
 * The rows that one consumer retains, from any readers: their memory stays until this is closed, in
 * whatever order the task's listeners run. For the task's thread.
 */
public final class RetainedRows implements AutoCloseable {
  // Uses of retained memory, by row object
  private final Map<InternalRow, Optional<Use>> known = new IdentityHashMap<>();
  private InternalRow last; // the row of the last call of retains; null before the first
  private boolean lastStays;

  /** True if the current memory of {@code row} stays until this is closed. */
  public boolean retains(InternalRow row) {
    if (row != last) {
      last = row;
      lastStays =
          RetainableRows.owner(row)
              .map(owner -> known.computeIfAbsent(row, first -> owner.retain()).isPresent())
              .orElse(false);
    }
    return lastStays;
  }

  /** Ends the use of all retained memory. */
  @Override
  public void close() {
    try {
      Closing.all(known.values().stream().flatMap(Optional::stream).toList());
    } finally {
      known.clear();
      last = null;
    }
  }
}
