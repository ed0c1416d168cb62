package org.tilespark.spark.nearest;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.StructField;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.Exchange;
import scala.collection.immutable.Seq;

/** Gathers the rows of one side of a join of nearest vectors into strips. */
public final class StripRowsExec extends MadeAnewExec<StripSpec> {
  private static final long serialVersionUID = 1;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child: the vectors, then the columns that rows of strips have
   * @param produced columns of strips
   */
  public StripRowsExec(
      StripSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, SparkPlan child) {
    super(spec, inputs, produced, child);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    List<Integer> ordinals = ChildColumns.ordinals(this, child, inputs);
    StructField[] fields = Attributes.schema(ScalaInterop.list(inputs)).fields();
    StripTask task =
        new StripTask(
            spec,
            ordinals.get(0),
            ScalaInterop.seq(
                java.util.stream.IntStream.range(1, fields.length)
                    .mapToObj(i -> Attributes.bound(ordinals.get(i), fields[i]))
                    .toList()),
            Exchange.keys(spec.partitions()));
    // Rows are numbered by their order, so a partition that runs again must give them in the same
    // order.
    return child
        .execute()
        .mapPartitionsWithIndex(task, false, true, ScalaInterop.classTag(InternalRow.class));
  }
}
