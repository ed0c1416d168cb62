package org.tilespark.spark.exchange;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * Passes on the rows of one child, then those of another: pieces of both operands of a product, or
 * pieces and marks ({@link PieceUnion}).
 */
public final class PieceUnionExec extends PhysicalBlockNode {
  private static final long serialVersionUID = 1;

  private final SparkPlan first;
  private final SparkPlan second;

  /**
   * The union of two plans.
   *
   * @param second plan with the same number and types of columns as {@code first}
   */
  public PieceUnionExec(SparkPlan first, SparkPlan second) {
    this.first = first;
    this.second = second;
  }

  @Override
  public Seq<Attribute> output() {
    return PieceUnion.output(ScalaInterop.list(first.output()), ScalaInterop.list(second.output()));
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return sparkContext()
        .union(
            ScalaInterop.seq(List.of(first.execute(), second.execute())),
            ScalaInterop.classTag(InternalRow.class));
  }

  @Override
  protected List<Object> fields() {
    return List.of(first, second);
  }
}
