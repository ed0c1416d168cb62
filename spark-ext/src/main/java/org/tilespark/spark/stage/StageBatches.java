package org.tilespark.spark.stage;

import java.util.List;
import java.util.NoSuchElementException;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.PermutePipeline;
import org.tilespark.spark.rows.BlockCursor;

/** Results as batches, whose values are Arrow buffers. */
final class StageBatches extends StageResults<ColumnarBatch, BatchLabels> {
  private final BufferAllocator allocator;
  private ColumnarBatch handedOut; // null if there is none

  /**
   * The results of a partition.
   *
   * @param allocator of the pipeline's buffers
   */
  StageBatches(
      StageSpec spec, BlockCursor cursor, PermutePipeline pipeline, BufferAllocator allocator) {
    super(spec, cursor, pipeline);
    this.allocator = allocator;
  }

  @Override
  BatchLabels begin() {
    return new BatchLabels(spec, carried);
  }

  @Override
  public boolean hasNext() {
    return isUnderWay();
  }

  @Override
  public ColumnarBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    release();
    BatchLabels labels = oldest();
    List<ArrowBuf> planes = pipeline.take();
    try {
      handedOut = labels.batch(planes, allocator);
    } finally {
      planes.forEach(ArrowBuf::close); // the batch's vectors hold their own references
    }
    return handedOut;
  }

  private void release() {
    if (handedOut != null) {
      handedOut.close();
      handedOut = null;
    }
  }

  @Override
  public void close() {
    release();
    super.close();
  }
}
