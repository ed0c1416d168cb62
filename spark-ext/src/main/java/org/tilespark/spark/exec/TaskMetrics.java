package org.tilespark.spark.exec;

import java.io.Serializable;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.tilespark.arrow.PipelineListener;

/** Carries what tasks did into the SQL metrics of their node. */
final class TaskMetrics implements Serializable {
  static final String BLOCKS = "numBlocks";
  static final String BATCHES = "numBatches";
  static final String BYTES_UP = "bytesUp";
  static final String BYTES_DOWN = "bytesDown";
  static final String DEVICE_TIME = "deviceTime";
  static final String HOST_TIME = "hostTime";
  static final String WAIT_TIME = "waitTime";
  static final String RETRIES = "numRetries";
  static final String SPLITS = "numSplits";

  private static final long serialVersionUID = 1;

  private final SQLMetric blocks;
  private final SQLMetric batches;
  private final SQLMetric bytesUp;
  private final SQLMetric bytesDown;
  private final SQLMetric deviceTime;
  private final SQLMetric hostTime;
  private final SQLMetric waitTime;
  private final SQLMetric retries;
  private final SQLMetric splits;

  TaskMetrics(scala.collection.immutable.Map<String, SQLMetric> metrics) {
    this.blocks = metrics.apply(BLOCKS);
    this.batches = metrics.apply(BATCHES);
    this.bytesUp = metrics.apply(BYTES_UP);
    this.bytesDown = metrics.apply(BYTES_DOWN);
    this.deviceTime = metrics.apply(DEVICE_TIME);
    this.hostTime = metrics.apply(HOST_TIME);
    this.waitTime = metrics.apply(WAIT_TIME);
    this.retries = metrics.apply(RETRIES);
    this.splits = metrics.apply(SPLITS);
  }

  void handedOut(int blockCount) {
    batches.add(1);
    blocks.add(blockCount);
  }

  PipelineListener onHost() {
    return new PipelineListener() {
      @Override
      public void worked(long nanos) {
        hostTime.add(nanos);
      }
    };
  }

  PipelineListener onDevice() {
    return new PipelineListener() {
      @Override
      public void moved(long up, long down) {
        bytesUp.add(up);
        bytesDown.add(down);
      }

      @Override
      public void worked(long nanos) {
        deviceTime.add(nanos);
      }

      @Override
      public void waited(long nanos) {
        waitTime.add(nanos);
      }

      @Override
      public void retried() {
        retries.add(1);
      }

      @Override
      public void split() {
        splits.add(1);
      }
    };
  }
}
