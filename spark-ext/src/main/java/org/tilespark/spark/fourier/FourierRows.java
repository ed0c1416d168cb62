package org.tilespark.spark.fourier;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.exchange.PieceKeys;
import org.tilespark.spark.rows.PendingRows;

/**
 * Results as rows, into which the pipeline writes the values: where an exchange keeps them, if they
 * go into one directly.
 */
final class FourierRows extends FourierResults<InternalRow> {
  private final PendingRows rows;
  private final Deque<PendingRows.PendingRow> made = new ArrayDeque<>(); // not taken, in order
  private final long[] keyFields; // offsets of the keys in a row
  private PendingRows.PendingRow current; // taken last; null if there is none
  private boolean isDone; // all copies of it were handed out

  /**
   * The results of a partition.
   *
   * @param allocator of rows that do not go into an exchange
   */
  FourierRows(Job job, BufferAllocator allocator) {
    super(job);
    int keyCount = output.keyCount();
    List<Integer> further = spec.furtherOut(output.columns());
    IntFunction<Expression> carried =
        column ->
            Attributes.bound(further.indexOf(column - keyCount), output.schema().fields()[column]);
    int[] keys = IntStream.range(0, keyCount).toArray();
    BlockSchema blocks = spec.out().mapped(position -> position + keyCount);
    this.rows = new PendingRows(output.schema(), blocks, keys, carried, allocator);
    long first = UnsafeRow.calculateBitSetWidthInBytes(output.schema().length());
    this.keyFields = IntStream.range(0, keyCount).mapToLong(key -> first + 8L * key).toArray();
  }

  @Override
  Rooms rooms(List<Label> labels) {
    return piece -> {
      Label label = labels.get(piece);
      PendingRows.PendingRow begun =
          rows.begin(label.further(), label.place(), label.copies() == 1);
      made.add(begun);
      return begun.planes();
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
    if (keyFields.length > 0) {
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
    List<AutoCloseable> held = new ArrayList<>();
    held.add(super::close);
    held.add(this::release);
    held.add(() -> Closing.emptied(made));
    held.add(rows);
    Closing.all(held);
  }
}
