package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** Gives memory to rows that are begun. Made when a task opens, and used by its thread. */
interface RowAllocator {
  /**
   * Begins a row: {@code row} points to {@code size} bytes of undefined content.
   *
   * @param isFinal true if nothing in the row is changed once it has been handed out
   */
  void begin(UnsafeRow row, int size, boolean isFinal);
}
