package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.runtime.PeakMemory;
import org.tilespark.spark.runtime.TaskMetrics;

/** The metrics of a product: those of every stage on the device, and those of products. */
final class MultiplyMetrics implements Serializable, PanelTask.Listener {
  private static final String PANELS = "numPanels";
  private static final String FLOPS = "flops";
  private static final String PREDICTED = "predictedShuffleBytes";
  private static final String PREDICTED_PARTIAL = "predictedPartialBytes";
  private static final String PREDICTED_BROADCAST = "predictedBroadcastBytes";
  private static final String PREDICTED_UP = "predictedBytesUp";
  private static final String REUSED = "reusedBytes";
  private static final String PEAK_TASK = "peakTaskMemory";

  private final TaskMetrics stage;
  private final SQLMetric blocks;
  private final SQLMetric panels;
  private final SQLMetric flops;
  private final SQLMetric reused;
  private final SQLMetric peakTask;

  MultiplyMetrics(scala.collection.immutable.Map<String, SQLMetric> metrics) {
    this.stage = new TaskMetrics(metrics);
    this.blocks = metrics.apply(TaskMetrics.BLOCKS);
    this.panels = metrics.apply(PANELS);
    this.flops = metrics.apply(FLOPS);
    this.reused = metrics.apply(REUSED);
    this.peakTask = metrics.apply(PEAK_TASK);
  }

  static Map<String, SQLMetric> create(SparkContext context) {
    Map<String, SQLMetric> map = new LinkedHashMap<>(TaskMetrics.stageMetrics(context));
    map.put(
        TaskMetrics.HOST_TIME,
        SQLMetrics.createNanoTimingMetric(context, "time multiplying on the CPU", -1));
    map.put(PANELS, SQLMetrics.createMetric(context, "number of panels"));
    map.put(FLOPS, SQLMetrics.createMetric(context, "floating-point operations"));
    map.put(PREDICTED, SQLMetrics.createSizeMetric(context, "predicted shuffle of operands", -1));
    map.put(
        PREDICTED_PARTIAL,
        SQLMetrics.createSizeMetric(context, "predicted shuffle of partial sums", -1));
    map.put(PREDICTED_BROADCAST, SQLMetrics.createSizeMetric(context, "predicted broadcast", -1));
    map.put(PREDICTED_UP, SQLMetrics.createSizeMetric(context, "predicted bytes up", -1));
    map.put(
        REUSED, SQLMetrics.createSizeMetric(context, "bytes found on the device, not sent", -1));
    map.put(
        PEAK_TASK,
        SQLMetrics.createV2CustomMetric(context, new PeakMemory("peak memory of a task")));
    return map;
  }

  /** Sets the metrics of the prediction, for comparison with the measured ones. */
  static void tell(
      scala.collection.immutable.Map<String, SQLMetric> metrics,
      Prediction prediction,
      SparkContext context) {
    metrics.apply(PREDICTED).set(prediction.operandBytes());
    metrics.apply(PREDICTED_PARTIAL).set(prediction.partialBytes());
    metrics.apply(PREDICTED_BROADCAST).set(prediction.broadcastBytes());
    metrics.apply(PREDICTED_UP).set(prediction.uploadBytes());
    PhysicalBlockNode.tell(
        context,
        Stream.of(PREDICTED, PREDICTED_PARTIAL, PREDICTED_BROADCAST, PREDICTED_UP)
            .<SQLMetric>map(metrics::apply)
            .toList());
  }

  /** Records the most memory outside the heap that the task held for panels and tile. */
  void peak(long bytes) {
    peakTask.set(bytes);
  }

  PipelineListener onHost() {
    return stage.onHost();
  }

  PipelineListener onDevice() {
    return PipelineListener.both(
        stage.onDevice(),
        new PipelineListener() {
          @Override
          public void reused(long bytes) {
            reused.add(bytes);
          }
        });
  }

  @Override
  public void panel(double operations) {
    panels.add(1);
    flops.add((long) operations);
  }

  @Override
  public void block() {
    blocks.add(1);
  }
}
