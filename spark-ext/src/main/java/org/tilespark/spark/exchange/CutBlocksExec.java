package org.tilespark.spark.exchange;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.ReadsBlocks;
import scala.collection.immutable.Seq;

/**
 * Runs {@link CutBlocks}: takes rows or batches, gives rows, each made by one bulk copy per run of
 * elements. Partitions stay where they are.
 */
public final class CutBlocksExec extends MadeAnewExec<CutSpec> implements ReadsBlocks {
  private static final long serialVersionUID = 1;

  static final String BLOCKS = "numInputBlocks";
  static final String WHOLE = "numWholeBlocks";
  static final String PIECES = "numOutputRows";
  static final String BYTES = "pieceBytes";

  private final Seq<Attribute> keys;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child that are read
   * @param keys key columns of the output
   * @param produced further output; position by position what becomes of {@code inputs}
   */
  public CutBlocksExec(
      CutSpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> keys,
      Seq<Attribute> produced,
      SparkPlan child) {
    super(spec, inputs, produced, child);
    this.keys = keys;
  }

  /** Columns of the child that are read. */
  List<Attribute> inputs() {
    return ScalaInterop.list(inputs);
  }

  /** The only child. */
  @Override
  public List<SparkPlan> blocks() {
    return List.of(child);
  }

  /** This node over another child, which gives rows or batches. */
  @Override
  public CutBlocksExec withBlocks(List<SparkPlan> blocks) {
    return new CutBlocksExec(spec, inputs, keys, produced, blocks.get(0));
  }

  @Override
  public Seq<Attribute> output() {
    List<Attribute> all = ScalaInterop.list(keys);
    all.addAll(ScalaInterop.list(produced));
    return ScalaInterop.seq(all);
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    Map<String, SQLMetric> map = new LinkedHashMap<>();
    map.put(BLOCKS, SQLMetrics.createMetric(sparkContext(), "number of blocks"));
    map.put(WHOLE, SQLMetrics.createMetric(sparkContext(), "blocks that are not cut"));
    map.put(PIECES, SQLMetrics.createMetric(sparkContext(), "number of output rows"));
    map.put(BYTES, SQLMetrics.createSizeMetric(sparkContext(), "bytes of pieces", -1));
    return map;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    CutTask.Columns columns =
        new CutTask.Columns(
            Attributes.schema(ScalaInterop.list(output())),
            keys.size(),
            ChildColumns.ordinals(this, child, inputs),
            Attributes.schema(ScalaInterop.list(inputs)));
    CutTask.Counts counts =
        new CutTask.Counts(
            metrics().apply(BLOCKS),
            metrics().apply(WHOLE),
            metrics().apply(PIECES),
            metrics().apply(BYTES));
    return atExchange(
        child.supportsColumnar()
            ? new CutTask<ColumnarBatch>(spec, columns, counts, BlockCursor::overBatches)
                .over(child.executeColumnar(), InternalRow.class, false)
            : new CutTask<InternalRow>(spec, columns, counts, BlockCursor::overRows)
                .over(child.execute(), InternalRow.class, false));
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose("\nCuts: " + spec);
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, keys, produced, child);
  }
}
