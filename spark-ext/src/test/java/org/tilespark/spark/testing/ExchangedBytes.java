package org.tilespark.spark.testing;

import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.tilespark.spark.catalyst.ExchangeMetrics;
import scala.Option;

/** Bytes that all nodes of a plan that has run moved through exchanges in memory. */
public record ExchangedBytes(
    long inMemory, long inPlace, long inFiles, long readLocally, long readRemotely) {

  /** The sums over a plan, adaptive or not. */
  public static ExchangedBytes of(SparkPlan plan) {
    return new ExchangedBytes(
        sum(plan, ExchangeMetrics.IN_MEMORY),
        sum(plan, ExchangeMetrics.IN_PLACE),
        sum(plan, ExchangeMetrics.IN_FILES),
        sum(plan, ExchangeMetrics.READ_LOCALLY),
        sum(plan, ExchangeMetrics.READ_REMOTELY));
  }

  private static long sum(SparkPlan plan, String metric) {
    return PlanNodes.all(plan, SparkPlan.class).stream()
        .map(node -> node.metrics().get(metric))
        .filter(Option::isDefined)
        .mapToLong(found -> Math.max(0, ((SQLMetric) found.get()).value()))
        .sum();
  }
}
