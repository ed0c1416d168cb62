package org.tilespark.spark.catalyst;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.Seq;

/** A physical node that passes on the rows of a child, in the same partitions and order. */
public abstract class SameRowsExec extends PhysicalBlockNode {
  protected final SparkPlan child;

  protected SameRowsExec(SparkPlan child) {
    this.child = child;
  }

  @Override
  public final Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public final Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  @Override
  public final Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute();
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName() + "\n" + simpleString(Integer.MAX_VALUE) + "\n";
  }
}
