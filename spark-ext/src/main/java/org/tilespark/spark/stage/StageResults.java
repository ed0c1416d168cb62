package org.tilespark.spark.stage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.arrow.blocks.PermutePipeline;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.arrow.blocks.TransposeChain;
import org.tilespark.arrow.pipeline.Closing;
import org.tilespark.arrow.pipeline.Rooms;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.permute.BlockPermutation;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.CarriedColumns;

/**
 * Runs a stage over the blocks of one partition: reads rows or batches, keeps as many batches under
 * way as the pipeline allows, and hands out the results in order. Closed by the task at its end,
 * whatever that end is, after the pipeline, which its maker closes.
 *
 * @param <R> what is handed out: rows, or batches; each is valid until the next one is asked for
 * @param <B> the labels of a batch
 */
abstract class StageResults<R, B extends StageResults.Labels>
    implements Iterator<R>, AutoCloseable {
  /** Rows of one batch at most, so that many tiny blocks do not make one endless batch. */
  private static final int MOST_ROWS = 1 << 16;

  /** Everything of a batch but its values; closed if the batch is not handed out. */
  interface Labels extends AutoCloseable {
    /** Count of blocks. */
    int rows();

    /** Adds the block that the first operator checked last, which {@code row} holds. */
    void add(InternalRow row, BlockCheck block);

    /** Where the blocks' results go. */
    Rooms rooms();

    @Override
    void close();
  }

  final StageSpec spec;
  final PermutePipeline pipeline;
  private final BlockCursor cursor;
  private final List<Permutation> permutations;
  private final List<BlockCheck> checks; // of each operator
  private final BlockCheck check; // the first operator's
  final CarriedColumns carried;
  private final Deque<B> underWay = new ArrayDeque<>();
  private TransposeChain chain; // of the block added last
  private boolean pending; // the cursor stands on a block that is in no batch yet
  private boolean exhausted;

  StageResults(StageSpec spec, BlockCursor cursor, PermutePipeline pipeline) {
    this.spec = spec;
    this.cursor = cursor;
    this.pipeline = pipeline;
    this.permutations = spec.operators().stream().map(BlockPermutation::permutation).toList();
    this.checks = spec.checks();
    this.check = checks.get(0);
    this.carried = new CarriedColumns(spec.inputSchema(), spec.carried(), spec.inputOrdinals());
  }

  /** The labels of a batch that begins. */
  abstract B begin();

  /** True if a batch is under way, after as many as may be were sent on their way. */
  final boolean isUnderWay() {
    fillPipeline();
    return !underWay.isEmpty();
  }

  /** The labels of the oldest batch, which is taken from the pipeline next. */
  final B oldest() {
    return underWay.remove();
  }

  @Override
  public void close() {
    exhausted = true;
    Closing.emptied(underWay);
  }

  private void fillPipeline() {
    while (pipeline.inFlight() < pipeline.capacity() && moveToBlock()) {
      B labels = begin();
      underWay.add(labels);
      pipeline.begin(
          spec.blocks().planes().size(), Math.max(spec.batchBytes(), blockBytes()), labels.rooms());
      do {
        addBlock(labels);
      } while (labels.rows() < MOST_ROWS && moveToBlock() && pipeline.fits(blockBytes()));
      pipeline.submit();
    }
  }

  /** Moves to a block that is in no batch yet, and checks it. */
  private boolean moveToBlock() {
    if (!pending && !exhausted) {
      pending = cursor.advance();
      exhausted = !pending;
      if (pending) {
        check.check(cursor);
        for (int i = 1; i < checks.size(); i++) {
          checks.get(i).checkAfter(checks.get(i - 1), permutations.get(i - 1));
        }
      }
    }
    return pending;
  }

  private long blockBytes() {
    return Shape.of(check.size()).elements() * spec.blocks().elementType().bytes();
  }

  private void addBlock(B labels) {
    List<Plane> planes = new ArrayList<>();
    for (int ordinal : spec.inputBlocks().planes()) {
      planes.add(cursor.values(ordinal, spec.blocks().elementType()));
    }
    labels.add(cursor.row(), check); // first: the pipeline may ask for its room
    pipeline.add(chain(), planes);
    pending = false;
  }

  /** What happens to the current block; blocks of one size follow each other as a rule. */
  private TransposeChain chain() {
    Shape shape = Shape.of(check.size());
    if (chain == null || !chain.shape().equals(shape)) {
      chain = TransposeChain.of(shape, permutations, spec.blocks().elementType().bytes());
    }
    return chain;
  }
}
