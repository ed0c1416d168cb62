package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.types.StructType;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.PieceCursor;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.BlockRowBuilder;

/**
 * Cuts the blocks of one partition into pieces.
 *
 * @param <T> what the child gives: rows or batches
 */
record CutTask<T>(CutSpec spec, Columns columns, Counts counts, BlockCursor.Source<T> source)
    implements PartitionTask<T, InternalRow> {
  /**
   * The columns on both sides.
   *
   * @param output schema of the pieces, keys first
   * @param keyCount how many keys there are
   * @param inputOrdinals the child's column behind each column after the keys
   * @param inputs schema of these
   */
  record Columns(StructType output, int keyCount, List<Integer> inputOrdinals, StructType inputs)
      implements Serializable {}

  /** What is counted. */
  record Counts(SQLMetric blocks, SQLMetric whole, SQLMetric pieces, SQLMetric bytes)
      implements Serializable {}

  @Override
  public Iterator<InternalRow> open(Iterator<T> blocks) {
    return new Pieces(spec, columns, counts, source.open(blocks));
  }

  /** The pieces, block by block; each row is valid until the next is asked for. */
  private static final class Pieces implements Iterator<InternalRow> {
    private final PieceKeys keys;
    private final List<PieceKeys.Column> keyColumns;
    private final Counts counts;
    private final BlockCursor blocks;
    private final BlockCheck check;
    private final PieceCursor pieces;
    private final BlockRowBuilder builder;
    private final BlockSchema in;
    private final HostMemory[] planes;
    private final long[] keyValues;
    private final long[] pieceSize;
    private final int width;
    private boolean onBlock; // the cursor of pieces walks over the current block
    private boolean built; // the current piece is in the builder's row
    private int copy; // of the current piece that comes next
    private int copies; // of the current piece

    private Pieces(CutSpec spec, Columns columns, Counts counts, BlockCursor blocks) {
      this.keys = spec.keys();
      this.keyColumns = keys.columns();
      this.counts = counts;
      this.blocks = blocks;
      int keyCount = columns.keyCount();
      BlockSchema inputs = BlockSchema.find(columns.inputs(), spec.kind(), spec.operator());
      this.in = inputs.mapped(position -> columns.inputOrdinals().get(position));
      this.check = new BlockCheck(in, spec.operator(), spec.extents().getOrElse(() -> null));
      this.pieces = spec.pieces();
      this.planes = new HostMemory[in.planes().size()];
      this.keyValues = new long[keyCount];
      this.pieceSize = new long[spec.kind().rank()];
      this.width = in.elementType().bytes();
      IntFunction<Expression> carried =
          output ->
              Attributes.bound(
                  columns.inputOrdinals().get(output - keyCount),
                  columns.inputs().fields()[output - keyCount]);
      this.builder =
          new BlockRowBuilder(
              columns.output(),
              inputs.mapped(position -> position + keyCount),
              IntStream.range(0, keyCount).toArray(),
              carried);
    }

    @Override
    public boolean hasNext() {
      while (copy == copies) {
        if (onBlock && pieces.advance()) {
          built = false;
          copy = 0;
          copies = keys.copies(pieces.part());
        } else {
          onBlock = blocks.advance();
          if (!onBlock) {
            return false;
          }
          startBlock();
        }
      }
      return true;
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      if (!built) {
        build();
      }
      keys.fill(copy++, pieces.part(), pieces.low(), keyValues);
      for (int key = 0; key < keyValues.length; key++) {
        builder.set(key, keyValues[key], keyColumns.get(key).isLong());
      }
      counts.pieces().add(1);
      counts.bytes().add(builder.row().getSizeInBytes());
      return builder.row();
    }

    private void startBlock() {
      check.check(blocks);
      pieces.start(check.offset(), check.size());
      builder.carry(blocks.row());
      for (int plane = 0; plane < planes.length; plane++) {
        planes[plane] = blocks.values(in.planes().get(plane), in.elementType()).values();
      }
      counts.blocks().add(1);
    }

    private void build() {
      if (pieces.isWholeBox()) {
        counts.whole().add(1);
      }
      builder.rowsAreFinal(copies == 1);
      HostMemory[] room = builder.begin(pieces.low(), pieces.high());
      for (int axis = 0; axis < pieceSize.length; axis++) {
        pieceSize[axis] = pieces.high()[axis] - pieces.low()[axis];
      }
      for (int plane = 0; plane < planes.length; plane++) {
        BoxCopy.copy(
            new BoxCopy.Block(planes[plane], check.offset(), check.size()),
            new BoxCopy.Origin(pieces.source(), pieces.step()),
            new BoxCopy.Block(room[plane], pieces.low(), pieceSize),
            pieces.low(),
            pieces.high(),
            width);
      }
      built = true;
    }
  }
}
