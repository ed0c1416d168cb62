package org.tilespark.spark.rows;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * The blocks of a query for a job that reads them directly: our batches without a copy, while the
 * query's own rows would be copies.
 *
 * @param <T> type of a partition's elements: rows or batches
 * @param partitions partitions of the query
 * @param source opens a cursor over a partition's blocks
 */
public record PlannedBlocks<T>(RDD<T> partitions, BlockCursor.Source<T> source) {
  /** The blocks of a query; runs earlier stages until the last stage is known. */
  public static PlannedBlocks<?> of(QueryExecution query) {
    SparkPlan plan = query.executedPlan();
    return plan instanceof AdaptiveSparkPlanExec adaptive
        ? adaptive.withFinalPlanUpdate(ScalaInterop.function(PlannedBlocks::of))
        : of(plan);
  }

  private static PlannedBlocks<?> of(SparkPlan plan) {
    return plan instanceof BlockBatchesToRowsExec copies
        ? new PlannedBlocks<>(copies.child().executeColumnar(), BlockCursor::overBatches)
        : new PlannedBlocks<>(plan.execute(), BlockCursor::overRows);
  }
}
