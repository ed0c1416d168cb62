package org.tilespark.spark.runtime;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.kernels.device.CudaFailure;

/** The batches of a task: counts what is handed out, and notices when the device is lost. */
public record CountedBatches(
    Iterator<ColumnarBatch> batches,
    ExecutorRuntime runtime,
    TaskMetrics metrics,
    PipelineTotals totals)
    implements Iterator<ColumnarBatch> {
  @Override
  public boolean hasNext() {
    try {
      return batches.hasNext();
    } catch (CudaFailure e) {
      throw noticed(e);
    }
  }

  @Override
  public ColumnarBatch next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    try {
      ColumnarBatch batch = batches.next();
      metrics.handedOut(batch.numRows());
      totals.handedOut(batch.numRows());
      return batch;
    } catch (CudaFailure e) {
      throw noticed(e);
    }
  }

  private CudaFailure noticed(CudaFailure failure) {
    if (failure.isSticky()) {
      runtime.deviceLost(failure);
    }
    return failure;
  }
}
