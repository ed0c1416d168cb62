package org.tilespark.spark.exchange;

import java.util.List;
import java.util.Optional;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * The placeholder of a shuffle with a planned count of partitions. {@link PlannedExchanges} later
 * replaces it by Spark's shuffle, or removes it if rows with equal keys are together already and
 * that suffices.
 *
 * <p>Spark makes a plan adaptive if it finds one of its own exchanges in it: then each shuffle is a
 * job, and the rest of the plan is optimized and planned again after it. Adaptive execution would
 * not change a shuffle with a fixed count of partitions.
 */
public final class PlannedExchangeExec extends PhysicalBlockNode {
  private static final long serialVersionUID = 1;

  private final HashPartitioning partitioning;
  private final boolean staysTogether;
  private final SparkPlan child;

  /**
   * The placeholder of a shuffle of {@code child}.
   *
   * @param staysTogether true if no shuffle is needed when rows with equal keys are together, in
   *     any number of partitions
   */
  public PlannedExchangeExec(
      HashPartitioning partitioning, boolean staysTogether, SparkPlan child) {
    this.partitioning = partitioning;
    this.staysTogether = staysTogether;
    this.child = child;
  }

  /** The plan that replaces a node of this class; empty for other nodes. */
  static Optional<SparkPlan> replaced(SparkPlan node) {
    return node instanceof PlannedExchangeExec planned
        ? Optional.of(planned.replaced())
        : Optional.empty();
  }

  private SparkPlan replaced() {
    return isTogether() ? child : Exchange.shuffle(partitioning, child);
  }

  private boolean isTogether() {
    return staysTogether
        && child
            .outputPartitioning()
            .satisfies(
                Exchange.together(ScalaInterop.<Expression>list(partitioning.expressions())));
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return isTogether() ? child.outputPartitioning() : partitioning;
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return isTogether() ? child.outputOrdering() : ScalaInterop.emptySeq();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return replaced().execute();
  }

  @Override
  public String nodeName() {
    return "PlannedExchange";
  }

  @Override
  protected List<Object> fields() {
    return List.of(partitioning, staysTogether, child);
  }
}
