package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.spark.catalyst.ExchangeInput;

/**
 * Gives memory to one row at a time: that of the {@link RowSink} if the node's rows go directly to
 * one, otherwise a reused {@code byte[]}.
 */
final class SingleRowAllocator implements RowAllocator {
  private final boolean isExchanged = ExchangeInput.isOpening();
  private byte[] bytes = {};

  @Override
  public void begin(UnsafeRow row, int size, boolean isFinal) {
    long address =
        isFinal && isExchanged
            ? RowSink.current().map(room -> room.room(size, row.numFields())).orElse(0L)
            : 0;
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
