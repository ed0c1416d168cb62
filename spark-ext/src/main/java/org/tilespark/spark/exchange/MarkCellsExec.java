package org.tilespark.spark.exchange;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/** Runs {@link MarkCells}. */
public final class MarkCellsExec extends MadeAnewExec<AssembleSpec> {
  private static final long serialVersionUID = 1;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child: the array's extents, then the grouping columns
   * @param produced output columns, as those of {@link CutBlocks}
   */
  public MarkCellsExec(
      AssembleSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, SparkPlan child) {
    super(spec, inputs, produced, child);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    List<Integer> ordinals = ChildColumns.ordinals(this, child, inputs);
    int rank = spec.kind().rank();
    MarkTask task =
        new MarkTask(
            spec,
            List.copyOf(ordinals.subList(0, rank)),
            List.copyOf(ordinals.subList(rank, ordinals.size())),
            Attributes.schema(ScalaInterop.list(produced)));
    return atExchange(task.over(child.execute(), InternalRow.class, false));
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  @Override
  public String simpleString(int maxFields) {
    return "MarkCells " + spec.kind().label();
  }

  @Override
  public String verboseStringWithOperatorId() {
    return verbose("");
  }
}
