package org.tilespark.spark.stage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.IntFunction;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.tilespark.arrow.blocks.PermutePipeline;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.layout.Box;
import org.tilespark.layout.Permutation;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.PendingRows;

/**
 * Results as rows, into which the pipeline writes the values: where an exchange keeps them, if they
 * go into one directly.
 */
final class StageRows extends StageResults<InternalRow, StageRows.RowLabels> {
  private final PendingRows rows;
  private final Permutation permutation;
  private final Deque<PendingRows.PendingRow> arrived =
      new ArrayDeque<>(); // of the batch taken last
  private PendingRows.PendingRow handedOut; // null if there is none

  /**
   * The results of a partition.
   *
   * @param allocator of rows that do not go into an exchange
   */
  StageRows(
      StageSpec spec, BlockCursor cursor, PermutePipeline pipeline, BufferAllocator allocator) {
    super(spec, cursor, pipeline);
    this.permutation = StageSpec.permutation(spec.operators());
    List<Integer> further = spec.carried();
    IntFunction<Expression> carriedColumn =
        column -> Attributes.bound(further.indexOf(column), spec.inputSchema().fields()[column]);
    this.rows =
        new PendingRows(spec.inputSchema(), spec.blocks(), new int[0], carriedColumn, allocator);
  }

  private record Label(Box place, UnsafeRow further) {}

  /** The blocks of a batch, and their rows once the pipeline has asked for room. */
  final class RowLabels implements StageResults.Labels {
    private final List<Label> labels = new ArrayList<>();
    private final List<PendingRows.PendingRow> made = new ArrayList<>();

    @Override
    public int rows() {
      return labels.size();
    }

    @Override
    public void add(InternalRow row, BlockCheck block) {
      long[] low = new long[permutation.rank()];
      long[] high = new long[low.length];
      for (int axis = 0; axis < low.length; axis++) {
        int from = permutation.axis(axis);
        low[axis] = block.offset()[from];
        high[axis] = low[axis] + block.size()[from];
      }
      labels.add(new Label(Box.between(low, high), carried.kept(row)));
    }

    @Override
    public Rooms rooms() {
      return block -> {
        Label label = labels.get(block);
        PendingRows.PendingRow row = rows.begin(label.further(), label.place(), true);
        made.add(row);
        return row.planes();
      };
    }

    @Override
    public void close() {
      Closing.emptied(made);
    }
  }

  @Override
  RowLabels begin() {
    return new RowLabels();
  }

  @Override
  public boolean hasNext() {
    return !arrived.isEmpty() || isUnderWay();
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    release();
    if (arrived.isEmpty()) {
      RowLabels batch = oldest();
      arrived.addAll(batch.made);
      batch.made.clear();
      Closing.all(pipeline.take());
    }
    handedOut = arrived.remove();
    return handedOut.row();
  }

  private void release() {
    if (handedOut != null) {
      handedOut.close();
      handedOut = null;
    }
  }

  @Override
  public void close() {
    Closing.all(
        List.<AutoCloseable>of(this::release, () -> Closing.emptied(arrived), super::close, rows));
  }
}
