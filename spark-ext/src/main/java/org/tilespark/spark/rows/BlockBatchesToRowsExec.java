package org.tilespark.spark.rows;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.ColumnarToRowTransition;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.tilespark.spark.catalyst.ExchangeMetrics;
import org.tilespark.spark.catalyst.SameRowsExec;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Turns batches of blocks into rows with one copy per array, while Spark's own transition copies
 * element by element. An optimizer rule inserts it above our nodes and sources.
 */
public final class BlockBatchesToRowsExec extends SameRowsExec implements ColumnarToRowTransition {
  private transient scala.collection.immutable.Map<String, SQLMetric> metrics;

  /** The transition above a columnar node. */
  public BlockBatchesToRowsExec(SparkPlan child) {
    super(child);
  }

  @Override
  public SparkPlan child() {
    return child;
  }

  @Override
  public scala.collection.immutable.Map<String, SQLMetric> metrics() {
    if (metrics == null) {
      Map<String, SQLMetric> map = new LinkedHashMap<>();
      map.put("numOutputRows", SQLMetrics.createMetric(sparkContext(), "number of output rows"));
      map.put(
          "numInputBatches", SQLMetrics.createMetric(sparkContext(), "number of input batches"));
      map.putAll(ExchangeMetrics.create(sparkContext()));
      metrics = ScalaInterop.map(map);
    }
    return metrics;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    BatchRowIterator.Opener open =
        new BatchRowIterator.Opener(
            child.schema(), metrics().apply("numOutputRows"), metrics().apply("numInputBatches"));
    return atExchange(
        child
            .executeColumnar()
            .mapPartitions(open, true, ScalaInterop.classTag(InternalRow.class)));
  }

  @Override
  public String verboseStringWithOperatorId() {
    return ColumnarToRowTransition.super.verboseStringWithOperatorId();
  }

  @Override
  public SparkPlan withNewChildInternal(SparkPlan newChild) {
    return new BlockBatchesToRowsExec(newChild);
  }

  @Override
  protected List<Object> fields() {
    return List.of(child);
  }
}
