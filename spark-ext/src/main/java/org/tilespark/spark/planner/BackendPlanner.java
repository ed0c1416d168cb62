package org.tilespark.spark.planner;

import org.apache.spark.SparkContext;

/** Says, on the driver, who will compute. */
final class BackendPlanner {
  private BackendPlanner() {}

  static BackendChoice choose(Backend requested, SparkContext context) {
    return new BackendChoice(requested, "cpu");
  }
}
