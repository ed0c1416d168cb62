package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.BlockPartitioning;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.multiply.cost.CuboidPlan.Strategy;
import scala.collection.immutable.Seq;

/** Adds the partial blocks of C that a shuffle brought together, in a fixed order. */
public final class SumBlocksExec extends MadeAnewExec<MultiplySpec> {
  private final Strategy strategy;

  /**
   * The sum of sorted partial blocks.
   *
   * @param strategy strategy by which the products were distributed over tasks
   * @param partials columns of the child, see {@link PieceColumns}
   * @param produced columns of the output: blocks of C
   */
  public SumBlocksExec(
      MultiplySpec spec,
      Strategy strategy,
      Seq<Attribute> partials,
      Seq<Attribute> produced,
      SparkPlan child) {
    super(spec, partials, produced, child);
    this.strategy = strategy;
  }

  /**
   * The child's partitioning by block of C and grouping columns, in terms of the output's places.
   */
  @Override
  public Partitioning outputPartitioning() {
    Partitioning partitioning = child.outputPartitioning();
    return Exchange.isBy(partitioning, PieceColumns.partialKey(ScalaInterop.list(inputs)))
        ? byPlaces(ScalaInterop.list(produced), partitioning.numPartitions()).partitioning()
        : Exchange.unknown(partitioning.numPartitions());
  }

  /** The partitioning by the places of blocks and the grouping columns. */
  static BlockPartitioning byPlaces(List<Attribute> produced, int partitions) {
    List<Attribute> places = new ArrayList<>();
    places.add(produced.get(Column.ROW.ordinal()));
    places.add(produced.get(Column.COL.ordinal()));
    places.addAll(produced.subList(Column.COUNT, produced.size()));
    return BlockPartitioning.by(places, partitions);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    PanelTask.Job job = PanelTask.Job.of(spec, false, produced);
    Strategy summed = strategy;
    PartitionTask<InternalRow, InternalRow> sums = rows -> new PartialSums(job, summed, rows);
    return atExchange(
        sums.over(
            Exchange.sorted(
                child, Attributes.ascending(PieceColumns.partialOrder(ScalaInterop.list(inputs)))),
            InternalRow.class,
            false));
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  @Override
  public String simpleString(int maxFields) {
    String then = spec.result().epilogue().text();
    return "SumBlocks of "
        + spec.blockRows()
        + " x "
        + spec.blockCols()
        + ", along K"
        + (then.isEmpty() ? "" : ", then " + then);
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName()
        + "\n"
        + simpleString(Integer.MAX_VALUE)
        + Exchange.explained(sparkContext())
        + "\n";
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, strategy, inputs, produced, child);
  }
}
