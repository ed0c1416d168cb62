package org.tilespark.spark.stage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.PermutePipeline;
import org.tilespark.arrow.blocks.TransposeChain;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.permute.BlockOperator;
import org.tilespark.spark.rows.BlockCheck;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.BlockValues;
import org.tilespark.spark.rows.CarriedColumns;

/**
 * Runs a stage over the blocks of one partition: reads rows or batches, keeps as many batches under
 * way as the pipeline allows, and hands them out in order.
 *
 * <p>It owns the batch it handed out last: that one is freed by the following {@code next()} or by
 * {@link #close}, which the task calls at its end, whatever that end is.
 */
final class StageIterator implements Iterator<ColumnarBatch>, AutoCloseable {
  /** Rows of one batch at most, so that many tiny blocks do not make one endless batch. */
  private static final int MOST_ROWS = 1 << 16;

  private final StageSpec spec;
  private final BlockCursor cursor;
  private final PermutePipeline pipeline;
  private final BufferAllocator allocator;
  private final List<Permutation> permutations;
  private final List<BlockCheck> checks; // of each operator
  private final BlockCheck check; // the first operator's
  private final CarriedColumns carried;
  private final Deque<BatchLabels> underWay = new ArrayDeque<>();
  private TransposeChain chain; // of the block added last
  private boolean pending; // the cursor stands on a block that is in no batch yet
  private boolean exhausted;
  private ColumnarBatch handedOut;

  StageIterator(
      StageSpec spec, BlockCursor cursor, PermutePipeline pipeline, BufferAllocator allocator) {
    this.spec = spec;
    this.cursor = cursor;
    this.pipeline = pipeline;
    this.allocator = allocator;
    this.permutations = spec.operators().stream().map(BlockOperator::permutation).toList();
    this.checks = spec.checks();
    this.check = checks.get(0);
    this.carried = new CarriedColumns(spec.inputSchema(), spec.carried(), spec.inputOrdinals());
  }

  @Override
  public boolean hasNext() {
    fillPipeline();
    return !underWay.isEmpty();
  }

  @Override
  public ColumnarBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    release();
    BatchLabels labels = underWay.remove();
    List<ArrowBuf> planes = pipeline.take();
    try {
      handedOut = labels.batch(planes, allocator);
    } finally {
      planes.forEach(ArrowBuf::close); // the batch's vectors hold their own references
    }
    return handedOut;
  }

  /** Frees the batch handed out last; the pipeline is closed by its maker. */
  @Override
  public void close() {
    release();
    underWay.forEach(BatchLabels::close);
    underWay.clear();
    exhausted = true;
  }

  private void release() {
    if (handedOut != null) {
      handedOut.close();
      handedOut = null;
    }
  }

  private void fillPipeline() {
    while (pipeline.inFlight() < pipeline.capacity() && moveToBlock()) {
      BatchLabels labels = new BatchLabels(spec, carried);
      underWay.add(labels);
      pipeline.begin(spec.blocks().planes().size(), Math.max(spec.batchBytes(), blockBytes()));
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

  private void addBlock(BatchLabels labels) {
    List<PermutePipeline.Plane> planes = new ArrayList<>();
    for (int ordinal : spec.inputBlocks().planes()) {
      BlockValues values = cursor.values(ordinal, spec.blocks().elementType());
      planes.add(new PermutePipeline.Plane(values.values(), values.owner()));
    }
    pipeline.add(chain(), planes);
    labels.add(cursor.row(), check);
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
