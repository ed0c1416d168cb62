package org.tilespark.spark.runtime;

import java.io.Serializable;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.tilespark.arrow.pipeline.Measure;
import org.tilespark.arrow.pipeline.PipelineListener;

/** Reports the work of tasks in the SQL metrics of their node. */
public final class TaskMetrics implements Serializable {
  public static final String STAGED = "bytesStaged";
  public static final String BLOCKS = "numBlocks";
  public static final String HOST_TIME = "hostTime";

  private final SQLMetric hostTime;
  private final Map<Measure, SQLMetric> metrics = new EnumMap<>(Measure.class);

  public TaskMetrics(scala.collection.immutable.Map<String, SQLMetric> all) {
    this.hostTime = all.apply(HOST_TIME);
    for (Measure measure : Measure.values()) {
      metrics.put(measure, all.apply(name(measure)));
    }
  }

  private static String name(Measure measure) {
    return switch (measure) {
      case BLOCKS -> BLOCKS;
      case BATCHES -> "numBatches";
      case BYTES_UP -> "bytesUp";
      case BYTES_DOWN -> "bytesDown";
      case STAGED -> STAGED;
      case COPY_UP -> "copyUpTime";
      case KERNEL -> "kernelTime";
      case COPY_DOWN -> "copyDownTime";
      case TURN -> "turnTime";
      case MEMORY -> "memoryTime";
      case RESULT -> "resultTime";
      case RETRIES -> "numRetries";
      case SPLITS -> "numSplits";
      case PEAK_DEVICE -> "peakDeviceMemory";
      case PEAK_PINNED -> "peakPinnedMemory";
    };
  }

  private static SQLMetric metric(SparkContext context, Measure measure) {
    return switch (measure) {
      case BLOCKS -> SQLMetrics.createMetric(context, "number of blocks");
      case BATCHES -> SQLMetrics.createMetric(context, "number of batches");
      case BYTES_UP -> SQLMetrics.createSizeMetric(context, "bytes up", -1);
      case BYTES_DOWN -> SQLMetrics.createSizeMetric(context, "bytes down", -1);
      case STAGED ->
          SQLMetrics.createSizeMetric(context, "bytes copied by the CPU for the GPU", -1);
      case COPY_UP -> time(context, "time copying up");
      case KERNEL -> time(context, "time in kernels");
      case COPY_DOWN -> time(context, "time copying down");
      case TURN -> time(context, "time waiting for a turn on the GPU");
      case MEMORY -> time(context, "time waiting for device memory");
      case RESULT -> time(context, "time waiting for results");
      case RETRIES -> SQLMetrics.createMetric(context, "device memory asked for again");
      case SPLITS -> SQLMetrics.createMetric(context, "batches split for want of device memory");
      case PEAK_DEVICE -> peak(context, "peak device memory");
      case PEAK_PINNED -> peak(context, "peak pinned memory");
    };
  }

  /** The metrics of a node, under the names that the UI shows. */
  public static Map<String, SQLMetric> stageMetrics(SparkContext context) {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    for (Measure measure : Measure.values()) {
      if (measure == Measure.TURN) { // the CPU's time is shown next to the device's
        map.put(HOST_TIME, time(context, "time transposing on the CPU"));
      }
      map.put(name(measure), metric(context, measure));
    }
    return map;
  }

  private static SQLMetric time(SparkContext context, String name) {
    return SQLMetrics.createNanoTimingMetric(context, name, -1);
  }

  private static SQLMetric peak(SparkContext context, String name) {
    return SQLMetrics.createV2CustomMetric(context, new PeakMemory(name));
  }

  void handedOut(int blockCount) {
    metrics.get(Measure.BATCHES).add(1);
    metrics.get(Measure.BLOCKS).add(blockCount);
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

  /** Counts the events of one task's pipeline. */
  private final class OnDevice implements PipelineListener {
    private final Map<Measure, Long> peaks = new EnumMap<>(Measure.class);

    @Override
    public void heard(Measure measure, long value) {
      if (measure.isPeak()) {
        metrics.get(measure).set(peaks.merge(measure, value, Math::max));
      } else {
        metrics.get(measure).add(value);
      }
    }
  }
}
