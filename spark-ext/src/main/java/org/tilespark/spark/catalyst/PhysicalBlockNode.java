package org.tilespark.spark.catalyst;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A physical node. Children, product methods, equality and copies follow from the list of its
 * fields.
 *
 * <p>A subclass is public and has a public constructor that takes the fields in their order:
 * Catalyst copies by reflection.
 */
public abstract class PhysicalBlockNode extends SparkPlan {
  private transient List<Object> fieldList; // fields as a list, made at need
  private transient Seq<SparkPlan> children; // plans among the fields, made at need
  // Metrics by name, made at need.
  private transient scala.collection.immutable.Map<String, SQLMetric> metrics;

  /**
   * The arguments of the subclass's constructor in their order. Plans and sequences of plans are
   * the children.
   */
  protected abstract List<Object> fields();

  private List<Object> fieldList() {
    if (fieldList == null) {
      fieldList = fields();
    }
    return fieldList;
  }

  @Override
  public final Seq<SparkPlan> children() {
    if (children == null) {
      children = ScalaInterop.seq(NodeFields.children(fieldList(), SparkPlan.class));
    }
    return children;
  }

  @Override
  public final SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return (SparkPlan)
        makeCopy(
            NodeFields.with(
                fieldList(),
                SparkPlan.class,
                ScalaInterop.<SparkPlan>list(newChildren).iterator()));
  }

  /**
   * Ignores {@link UncountedRows}, which has no physical node: this node keeps its link to the plan
   * below.
   */
  @Override
  public void setLogicalLink(LogicalPlan plan) {
    if (!(plan instanceof UncountedRows)) {
      super.setLogicalLink(plan);
    }
  }

  /**
   * True if the node's tasks read from an exchange or write to one; then it shows {@link
   * ExchangeMetrics}.
   */
  protected boolean isAtExchange() {
    return false;
  }

  /** The node's results, marked with its metrics; for nodes at an exchange. */
  protected final <R> RDD<R> atExchange(RDD<R> results) {
    return ExchangeInput.marked(results, new ExchangeMetrics(metrics()));
  }

  /** The metrics by name, in the order in which they are shown; called once. */
  protected Map<String, SQLMetric> newMetrics() {
    return Map.of();
  }

  @Override
  public scala.collection.immutable.Map<String, SQLMetric> metrics() {
    if (metrics == null) {
      Map<String, SQLMetric> all = new LinkedHashMap<>(newMetrics());
      if (isAtExchange()) {
        all.putAll(ExchangeMetrics.create(sparkContext()));
      }
      metrics = ScalaInterop.map(all);
    }
    return metrics;
  }

  /** Publishes metrics that the driver has set, since no task reports them. */
  public static void tell(SparkContext context, List<SQLMetric> metrics) {
    SQLMetrics.postDriverMetricUpdates(
        context,
        context.getLocalProperty(SQLExecution$.MODULE$.EXECUTION_ID_KEY()),
        ScalaInterop.seq(metrics));
  }

  /** All output columns that no child has. */
  @Override
  public final AttributeSet producedAttributes() {
    AttributeSet inputs = inputSet();
    return outputSet().filter(ScalaInterop.function(column -> !inputs.contains(column)));
  }

  @Override
  public final int productArity() {
    return fieldList().size();
  }

  @Override
  public final Object productElement(int n) {
    return fieldList().get(n);
  }

  @Override
  public final boolean canEqual(Object that) {
    return that != null && that.getClass() == getClass();
  }

  @Override
  public final boolean equals(Object o) {
    return o instanceof PhysicalBlockNode that
        && canEqual(that)
        && fieldList().equals(that.fieldList());
  }

  @Override
  public final int hashCode() {
    return Objects.hash(getClass().getName(), fieldList());
  }
}
