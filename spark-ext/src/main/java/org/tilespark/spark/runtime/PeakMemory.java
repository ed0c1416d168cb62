package org.tilespark.spark.runtime;

import java.util.Arrays;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.util.Utils;

/**
 * A metric for the most memory in use at once, as each task saw it: Spark adds sizes over tasks,
 * which says nothing where all tasks look at the same memory. The UI shows the greatest.
 */
public final class PeakMemory implements CustomMetric {
  private final String description;

  /**
   * A constructor for Spark, which calls it by the class's name to put the tasks' values together.
   */
  public PeakMemory() {
    this("peak memory");
  }

  /**
   * @param description its name in the UI
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
