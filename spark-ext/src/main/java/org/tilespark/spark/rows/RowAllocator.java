package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Allocates memory for new rows. Created when a task opens, and used by its thread. */
interface RowAllocator {
  /**
   * Begins a row: {@code row} points to {@code size} bytes of undefined content.
   *
   * @param isFinal true if the row is not changed after it was given out
   */
  void begin(UnsafeRow row, int size, boolean isFinal);
}
