package org.tilespark.spark.fourier;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.exchange.PieceKeys;
import org.tilespark.spark.rows.KeptRows;

/**
 * Results as rows, into which the pipeline writes the values: where an exchange keeps them, if they
 * go into one directly.
 */
final class FourierRows extends FourierResults<InternalRow> {
  private final KeptRows rows;
  private final Deque<KeptRows.Kept> made = new ArrayDeque<>(); // not taken, in the order of pieces
  private KeptRows.Kept current; // taken last; null if there is none
  private boolean isDone; // all copies of it were handed out
  private long[] keyFields; // offsets of the keys in a row

  /**
   * The results of a partition.
   *
   * @param allocator of rows that do not go into an exchange
   */
  FourierRows(Job job, BufferAllocator allocator) {
    super(job);
    int keyCount = output.keyCount();
    List<Integer> further = spec.furtherOut(output.columns());
    this.rows =
        new KeptRows(
            output.schema(),
            spec.out().mapped(position -> position + keyCount),
            IntStream.range(0, keyCount).toArray(),
            column ->
                Attributes.bound(
                    further.indexOf(column - keyCount), output.schema().fields()[column]),
            allocator);
    long first = UnsafeRow.calculateBitSetWidthInBytes(output.schema().length());
    this.keyFields = IntStream.range(0, keyCount).mapToLong(key -> first + 8L * key).toArray();
  }

  @Override
  Rooms rooms(List<Label> labels) {
    return piece -> {
      Label label = labels.get(piece);
      KeptRows.Kept row =
          rows.begin(
              label.further(),
              label.place().offset(),
              IntStream.range(0, spec.out().kind().rank()).mapToLong(label.place()::high).toArray(),
              label.copies() == 1);
      made.add(row);
      if (label.copies() == 1) {
        setKeys(row.row(), label, 0);
      }
      return row.planes();
    };
  }

  private void setKeys(UnsafeRow row, Label label, int copyOfIt) {
    for (int key = 0; key < keyFields.length; key++) {
      long value = label.keys().get(copyOfIt)[key];
      PieceKeys.Column column = output.keys().columns().get(key);
      Platform.putLong(
          row.getBaseObject(),
          row.getBaseOffset() + keyFields[key],
          column.isLong() ? value : Math.toIntExact(value) & 0xffffffffL);
    }
  }

  @Override
  void taken(List<ArrowBuf> planes) {
    current = made.remove();
    isDone = false;
  }

  @Override
  InternalRow result(Label label, int copyOfIt) {
    if (label.copies() > 1) {
      setKeys(current.row(), label, copyOfIt);
    }
    return current.row();
  }

  @Override
  void release() {
    if (isDone) {
      current.close();
      current = null;
      isDone = false;
    }
  }

  @Override
  void finish() {
    isDone = current != null; // its row was handed out, and is valid until the next
  }

  @Override
  public void close() {
    super.close();
    release();
    made.forEach(KeptRows.Kept::close);
    made.clear();
    rows.close();
  }
}
