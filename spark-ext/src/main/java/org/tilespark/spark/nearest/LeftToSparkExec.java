package org.tilespark.spark.nearest;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import scala.collection.immutable.Seq;

/** The rows of its child; EXPLAIN shows why Spark plans it. */
public final class LeftToSparkExec extends PhysicalBlockNode {
  private static final long serialVersionUID = 1;

  private final String reason;
  private final SparkPlan child;

  /** The node over what Spark made of a join. */
  public LeftToSparkExec(String reason, SparkPlan child) {
    this.reason = reason;
    this.child = child;
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return child.outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return child.outputOrdering();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return child.execute();
  }

  @Override
  public String simpleString(int maxFields) {
    return "NEAREST BY is left to Spark: " + reason;
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName() + "\n" + simpleString(Integer.MAX_VALUE) + "\n";
  }

  @Override
  protected List<Object> fields() {
    return List.of(reason, child);
  }
}
