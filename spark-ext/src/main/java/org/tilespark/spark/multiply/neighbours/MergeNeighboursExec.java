package org.tilespark.spark.multiply.neighbours;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataType;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.multiply.scores.Reduction;
import scala.collection.immutable.Seq;

/** The best of the candidates of each query, which a shuffle brought together. */
public final class MergeNeighboursExec extends MadeAnewExec<Reduction.Nearest> {
  /**
   * The merge of shuffled candidates.
   *
   * @param candidates columns of the child, see {@link NeighbourRows}
   * @param produced columns of the output: neighbours
   */
  public MergeNeighboursExec(
      Reduction.Nearest spec, Seq<Attribute> candidates, Seq<Attribute> produced, SparkPlan child) {
    super(spec, candidates, produced, child);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    List<DataType> types =
        ScalaInterop.<Attribute>list(produced).stream().map(Attribute::dataType).toList();
    int groups = inputs.size() - NeighbourRows.CANDIDATE_COLUMNS;
    Reduction.Nearest nearest = spec;
    PartitionTask<InternalRow, InternalRow> merge =
        rows -> new MergedNeighbours(nearest, types, groups, rows);
    List<Attribute> key = NeighbourRows.key(ScalaInterop.list(inputs));
    return merge.over(Exchange.sorted(child, Attributes.ascending(key)), InternalRow.class, false);
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + spec.describe();
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName()
        + "\n"
        + simpleString(Integer.MAX_VALUE)
        + Exchange.explained(sparkContext())
        + "\n";
  }
}
