package org.tilespark.spark.vectors;

import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.ReadsBlocks;
import scala.collection.immutable.Seq;

/** Runs {@link SpreadBlocks}. */
public final class SpreadBlocksExec extends MadeAnewExec<SpreadSpec> implements ReadsBlocks {
  private static final long serialVersionUID = 1;

  static final String ROWS = "numOutputRows";

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child, in the positions that {@code spec} has
   * @param produced the output, in the order that {@code spec} has
   */
  public SpreadBlocksExec(
      SpreadSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, SparkPlan child) {
    super(spec, inputs, produced, child);
  }

  @Override
  public List<SparkPlan> blocks() {
    return List.of(child);
  }

  @Override
  public SpreadBlocksExec withBlocks(List<SparkPlan> newChild) {
    return new SpreadBlocksExec(spec, inputs, produced, newChild.get(0));
  }

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    return Map.of(ROWS, SQLMetrics.createMetric(sparkContext(), "number of output rows"));
  }

  @Override
  public RDD<InternalRow> doExecute() {
    StructType schema = Attributes.schema(ScalaInterop.list(inputs));
    List<Integer> ordinals = ChildColumns.ordinals(this, child, inputs);
    SQLMetric rows = metrics().apply(ROWS);
    return child.supportsColumnar()
        ? new SpreadTask<>(spec, schema, ordinals, BlockCursor::overBatches, schema(), rows)
            .over(child.executeColumnar(), InternalRow.class, false)
        : new SpreadTask<>(spec, schema, ordinals, BlockCursor::overRows, schema(), rows)
            .over(child.execute(), InternalRow.class, false);
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose("\nGives: " + spec);
  }
}
