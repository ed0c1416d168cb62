package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.spark.catalyst.ExchangeInput;

/**
 * Where the bytes of a row are made: where an exchange will keep them, if the node's rows go into
 * one directly, so that nobody copies them; else in a {@code byte[]} that is used again for the
 * next row. Made when a task opens, and used by its thread.
 */
final class RowSpace {
  private final boolean isExchanged = ExchangeInput.isOpening();
  private byte[] bytes = {};

  /**
   * Begins a row: {@code row} points to {@code size} bytes of undefined content.
   *
   * @param isFinal true if nothing in the row is changed once it has been handed out
   */
  void begin(UnsafeRow row, int size, boolean isFinal) {
    long address = isFinal && isExchanged ? ExchangedRows.room(size, row.numFields()) : 0;
    if (address != 0) {
      row.pointTo(null, address, size);
      return;
    }
    if (bytes.length < size) {
      bytes = new byte[size];
    }
    row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET, size);
  }
}
