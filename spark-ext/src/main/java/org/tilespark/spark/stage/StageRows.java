package org.tilespark.spark.stage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
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
 * Results as rows, into which the pipeline writes the values: directly into the memory of an
 * exchange, if they go to one.
 */
final class StageRows extends StageResults<InternalRow> {
  private final PendingRows rows;
  private final Deque<Label> underWay = new ArrayDeque<>();
  // Rows whose values are not yet taken from the pipeline, in order
  private final Deque<PendingRows.PendingRow> made = new ArrayDeque<>();
  private final long[] keyFields; // byte offsets of the key columns in a row
  private Label label; // label of the last row; null if the next must be taken
  private PendingRows.PendingRow current; // the row taken last; null if there is none
  private int copy; // how often the current row was given

  /**
   * The results of a partition.
   *
   * @param allocator allocator of rows that do not go into an exchange
   */
  StageRows(Job job, BufferAllocator allocator) {
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
    underWay.addAll(labels);
    return piece -> {
      Label of = labels.get(piece);
      PendingRows.PendingRow begun = rows.begin(of.further(), of.place(), of.copies() == 1);
      made.add(begun);
      return begun.planes();
    };
  }

  @Override
  public boolean hasNext() {
    boolean isUnderWay = isUnderWay();
    return isUnderWay || label != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    if (label == null) {
      release();
      label = underWay.remove();
      Closing.all(take());
      current = made.remove();
      copy = 0;
    }
    setKeys(current.row());
    copy++;
    if (copy >= label.copies()) {
      label = null; // the row was given already; it is valid until the next one
    }
    return current.row();
  }

  private void setKeys(UnsafeRow row) {
    for (int key = 0; key < keyFields.length; key++) {
      long value = label.keys().get(copy)[key];
      PieceKeys.Column column = output.keys().columns().get(key);
      Platform.putLong(
          row.getBaseObject(),
          row.getBaseOffset() + keyFields[key],
          column.isLong() ? value : Math.toIntExact(value) & 0xffffffffL);
    }
  }

  private void release() {
    if (current != null) {
      current.close();
      current = null;
    }
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
