package org.tilespark.spark.runtime;

import java.util.Arrays;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.util.Utils;

/**
 * A metric for the most memory in use at once, as each task saw it: Spark's size metrics add values
 * over tasks, which is meaningless if all tasks report the same memory. The UI shows the maximum.
 */
public final class PeakMemory implements CustomMetric {
  private final String description;

  /** A constructor for Spark, which creates it by the class's name to combine the tasks' values. */
  public PeakMemory() {
    this("peak memory");
  }

  /**
   * @param description the metric's name in the UI
   */
  public PeakMemory(String description) {
    this.description = description;
  }

  @Override
  public String name() {
    return description;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public String aggregateTaskMetrics(long[] taskMetrics) {
    return Utils.bytesToString(Arrays.stream(taskMetrics).max().orElse(0));
  }
}
