package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.spark.catalyst.ScalaInterop;

/** Carries what tasks did into the SQL metrics of their node. */
public final class TaskMetrics implements Serializable {
  public static final String BLOCKS = "numBlocks";
  static final String BATCHES = "numBatches";
  static final String BYTES_UP = "bytesUp";
  static final String BYTES_DOWN = "bytesDown";
  static final String COPY_UP_TIME = "copyUpTime";
  static final String KERNEL_TIME = "kernelTime";
  static final String COPY_DOWN_TIME = "copyDownTime";
  public static final String HOST_TIME = "hostTime";
  static final String TURN_TIME = "turnTime";
  static final String MEMORY_TIME = "memoryTime";
  static final String RESULT_TIME = "resultTime";
  static final String RETRIES = "numRetries";
  static final String SPLITS = "numSplits";
  static final String PEAK_DEVICE = "peakDeviceMemory";
  static final String PEAK_PINNED = "peakPinnedMemory";

  private static final long serialVersionUID = 1;

  private final SQLMetric blocks;
  private final SQLMetric batches;
  private final SQLMetric bytesUp;
  private final SQLMetric bytesDown;
  private final SQLMetric copyUpTime;
  private final SQLMetric kernelTime;
  private final SQLMetric copyDownTime;
  private final SQLMetric hostTime;
  private final SQLMetric turnTime;
  private final SQLMetric memoryTime;
  private final SQLMetric resultTime;
  private final SQLMetric retries;
  private final SQLMetric splits;
  private final SQLMetric peakDevice;
  private final SQLMetric peakPinned;

  public TaskMetrics(scala.collection.immutable.Map<String, SQLMetric> metrics) {
    this.blocks = metrics.apply(BLOCKS);
    this.batches = metrics.apply(BATCHES);
    this.bytesUp = metrics.apply(BYTES_UP);
    this.bytesDown = metrics.apply(BYTES_DOWN);
    this.copyUpTime = metrics.apply(COPY_UP_TIME);
    this.kernelTime = metrics.apply(KERNEL_TIME);
    this.copyDownTime = metrics.apply(COPY_DOWN_TIME);
    this.hostTime = metrics.apply(HOST_TIME);
    this.turnTime = metrics.apply(TURN_TIME);
    this.memoryTime = metrics.apply(MEMORY_TIME);
    this.resultTime = metrics.apply(RESULT_TIME);
    this.retries = metrics.apply(RETRIES);
    this.splits = metrics.apply(SPLITS);
    this.peakDevice = metrics.apply(PEAK_DEVICE);
    this.peakPinned = metrics.apply(PEAK_PINNED);
  }

  /** The metrics of a node, under the names that the UI shows. */
  public static scala.collection.immutable.Map<String, SQLMetric> create(SparkContext context) {
    return ScalaInterop.map(stageMetrics(context));
  }

  /** The same, for nodes that have more. */
  public static Map<String, SQLMetric> stageMetrics(SparkContext context) {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    map.put(BLOCKS, SQLMetrics.createMetric(context, "number of blocks"));
    map.put(BATCHES, SQLMetrics.createMetric(context, "number of batches"));
    map.put(BYTES_UP, SQLMetrics.createSizeMetric(context, "bytes up", -1));
    map.put(BYTES_DOWN, SQLMetrics.createSizeMetric(context, "bytes down", -1));
    map.put(COPY_UP_TIME, time(context, "time copying up"));
    map.put(KERNEL_TIME, time(context, "time in kernels"));
    map.put(COPY_DOWN_TIME, time(context, "time copying down"));
    map.put(HOST_TIME, time(context, "time transposing on the CPU"));
    map.put(TURN_TIME, time(context, "time waiting for a turn on the GPU"));
    map.put(MEMORY_TIME, time(context, "time waiting for device memory"));
    map.put(RESULT_TIME, time(context, "time waiting for results"));
    map.put(RETRIES, SQLMetrics.createMetric(context, "device memory asked for again"));
    map.put(SPLITS, SQLMetrics.createMetric(context, "batches split for want of device memory"));
    map.put(PEAK_DEVICE, peak(context, "peak device memory"));
    map.put(PEAK_PINNED, peak(context, "peak pinned memory"));
    return map;
  }

  /** Shows what the driver has set: it is of no task, so no task brings it. */
  public static void tell(SparkContext context, List<SQLMetric> metrics) {
    SQLMetrics.postDriverMetricUpdates(
        context,
        context.getLocalProperty(SQLExecution$.MODULE$.EXECUTION_ID_KEY()),
        ScalaInterop.seq(metrics));
  }

  private static SQLMetric time(SparkContext context, String name) {
    return SQLMetrics.createNanoTimingMetric(context, name, -1);
  }

  private static SQLMetric peak(SparkContext context, String name) {
    return SQLMetrics.createV2CustomMetric(context, new PeakMemory(name));
  }

  void handedOut(int blockCount) {
    batches.add(1);
    blocks.add(blockCount);
  }

  public PipelineListener onHost() {
    return new PipelineListener() {
      @Override
      public void computed(long nanos) {
        hostTime.add(nanos);
      }
    };
  }

  public PipelineListener onDevice() {
    return new OnDevice();
  }

  /** What one task hears from its pipeline. */
  private final class OnDevice implements PipelineListener {
    private long mostDevice;
    private long mostPinned;

    @Override
    public void moved(long up, long down) {
      bytesUp.add(up);
      bytesDown.add(down);
    }

    @Override
    public void copiedUp(long nanos) {
      copyUpTime.add(nanos);
    }

    @Override
    public void computed(long nanos) {
      kernelTime.add(nanos);
    }

    @Override
    public void copiedDown(long nanos) {
      copyDownTime.add(nanos);
    }

    @Override
    public void waitedForTurn(long nanos) {
      turnTime.add(nanos);
    }

    @Override
    public void waitedForMemory(long nanos) {
      memoryTime.add(nanos);
    }

    @Override
    public void waitedForResults(long nanos) {
      resultTime.add(nanos);
    }

    @Override
    public void held(long deviceBytes, long pinnedBytes) {
      mostDevice = Math.max(mostDevice, deviceBytes);
      mostPinned = Math.max(mostPinned, pinnedBytes);
      peakDevice.set(mostDevice);
      peakPinned.set(mostPinned);
    }

    @Override
    public void retried() {
      retries.add(1);
    }

    @Override
    public void split() {
      splits.add(1);
    }
  }
}
