package org.tilespark.spark.stage;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.permute.BlockPermutation;
import org.tilespark.spark.permute.PermutedColumns;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.TaskMetrics;
import scala.collection.immutable.Seq;

/**
 * Runs one or more permutations of blocks, see {@link org.tilespark.spark.permute.PermuteBlocks}:
 * each block goes to the device once, through all operators there, and back once. Takes rows or
 * batches, gives batches whose value columns are Arrow lists. Partitions stay where they are.
 */
public final class BlockStageExec extends BatchStageExec<Seq<BlockPermutation>> {
  private static final long serialVersionUID = 1;

  /**
   * A stage over {@code child}.
   *
   * @param operators first to last, one or more, all of one kind
   * @param inputs columns of the child that are read, in the parts they play for the first operator
   * @param produced the output; position by position what becomes of {@code inputs}
   * @param backend who computes
   * @param batchBytes bytes of values that make a batch
   */
  public BlockStageExec(
      Seq<BlockPermutation> operators,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      BackendChoice backend,
      long batchBytes,
      SparkPlan child) {
    super(operators, inputs, produced, backend, batchBytes, child);
  }

  /** What happens to each block, first to last. */
  public List<BlockPermutation> operators() {
    return ScalaInterop.list(spec);
  }

  /** This node without a transition from rows between it and its child: it reads rows itself. */
  @Override
  public BlockStageExec withBlocks(SparkPlan newChild) {
    return new BlockStageExec(spec, inputs, produced, backend, batchBytes, newChild);
  }

  @Override
  public Partitioning outputPartitioning() {
    Partitioning partitioning = child.outputPartitioning();
    return partitioning instanceof Expression
        ? Exchange.renamed(partitioning, columns()::target)
        : partitioning;
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return Attributes.renamedOrdering(child.outputOrdering(), columns()::target);
  }

  @Override
  protected List<Integer> planes() {
    return columns().blocks().planes();
  }

  @Override
  public RDD<ColumnarBatch> doExecuteColumnar() {
    return results(StageBatches::new, ColumnarBatch.class);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return results(StageRows::new, InternalRow.class);
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  private <R> RDD<R> results(StageTask.Form<R> form, Class<R> type) {
    TaskMetrics taskMetrics = new TaskMetrics(metrics());
    StageSpec stage = stage();
    return atExchange(
        child.supportsColumnar()
            ? new StageTask<ColumnarBatch, R>(
                    stage, backend, taskMetrics, BlockCursor::overBatches, form)
                .over(child.executeColumnar(), type, true)
            : new StageTask<InternalRow, R>(
                    stage, backend, taskMetrics, BlockCursor::overRows, form)
                .over(child.execute(), type, true));
  }

  private StageSpec stage() {
    PermutedColumns columns = columns();
    return new StageSpec(
        columns.blocks(),
        ChildColumns.ordinals(this, child, inputs),
        Attributes.schema(columns.inputs()),
        List.copyOf(operators()),
        batchBytes);
  }

  /** The columns as one operator with the effect of all would have them. */
  private PermutedColumns columns() {
    return PermutedColumns.of(
        operators().get(0).kind(), StageSpec.permutation(operators()), inputs, produced);
  }

  @Override
  public String nodeName() {
    return operators().size() == 1 ? "PermuteBlocks" : "BlockStage";
  }

  @Override
  public String simpleString(int maxFields) {
    StringBuilder text = new StringBuilder();
    if (operators().size() > 1) {
      text.append("BlockStage [").append(operators().size()).append(" operators] ");
    }
    text.append(
        operators().stream()
            .map(BlockPermutation::toString)
            .collect(Collectors.joining(", then ")));
    return text.append(" [").append(backend).append("]").toString();
  }

  @Override
  public String verboseStringWithOperatorId() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < operators().size(); i++) {
      text.append("\nOperator ").append(i + 1).append(": ").append(operators().get(i));
    }
    return verbose(
        text.append("\nBackend: ")
            .append(backend)
            .append("\nBatch: ")
            .append(batchBytes)
            .append(" bytes of values")
            .toString());
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, backend, batchBytes, child);
  }
}
