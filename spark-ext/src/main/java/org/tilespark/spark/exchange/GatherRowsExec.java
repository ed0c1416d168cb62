package org.tilespark.spark.exchange;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import scala.collection.immutable.Seq;

/**
 * All rows of a child for one task, which reads its partitions one after another: in place of an
 * exchange, where {@link Exchange#isOneTask} says that an array is small enough.
 */
public final class GatherRowsExec extends PhysicalBlockNode {
  private static final long serialVersionUID = 1;

  private final SparkPlan child;

  /** The node over {@code child}. */
  public GatherRowsExec(SparkPlan child) {
    this.child = child;
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return SinglePartition$.MODULE$;
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return Exchange.gathered(child.execute(), InternalRow.class);
  }

  @Override
  public String nodeName() {
    return "GatherRows";
  }

  @Override
  public String simpleString(int maxFields) {
    return "GatherRows into one task";
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName() + "\n";
  }

  @Override
  protected List<Object> fields() {
    return List.of(child);
  }
}
