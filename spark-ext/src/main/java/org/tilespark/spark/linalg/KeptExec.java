package org.tilespark.spark.linalg;

import java.util.List;
import java.util.Objects;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * The rows of the plan that a {@link Kept} keeps. The plan is not a child of this node: Spark
 * prints the children of a cached plan at each node that reads it, so a plan's text would double
 * with each level of nested kept plans.
 */
public final class KeptExec extends PhysicalBlockNode {
  /** Most levels of nested kept plans that EXPLAIN shows. */
  private static final int MOST_SHOWN = 2;

  private final Hidden hidden;

  /**
   * Most levels of nested kept plans that are compared, since each comparison also compares the
   * plans within.
   */
  private static final int MOST_COMPARED = 6;

  /**
   * A kept plan, hidden in a node that does not have it as a child.
   *
   * <p>Equal to another one of the same query; but if the plans are nested too deeply, equal only
   * to itself.
   */
  static final class Hidden {
    private final String name;
    private final SparkPlan plan;
    private final LogicalPlan query;
    private final int depth;

    /**
     * @param plan the physical plan of {@code query}
     * @param depth 1 if the plan reads no kept rows, otherwise one more than the deepest kept plan
     *     that it reads
     */
    Hidden(String name, SparkPlan plan, LogicalPlan query, int depth) {
      this.name = name;
      this.plan = plan;
      this.query = query;
      this.depth = depth;
    }

    @Override
    public boolean equals(Object o) {
      return o == this
          || o instanceof Hidden that
              && name.equals(that.name)
              && depth == that.depth
              && depth <= MOST_COMPARED
              && query.sameResult(that.query);
    }

    @Override
    public int hashCode() {
      return Objects.hash(name, depth);
    }

    @Override
    public String toString() {
      return name;
    }
  }

  /** A constructor for Catalyst and {@link Kept}; {@code hidden} is a {@link Hidden}. */
  public KeptExec(Object hidden) {
    this.hidden = (Hidden) hidden;
  }

  /** The level of this node among nested kept plans, from 1. */
  int depth() {
    return hidden.depth;
  }

  /** The query whose rows are kept. */
  public LogicalPlan query() {
    return hidden.query;
  }

  /** The physical plan of {@link #query}. */
  public SparkPlan plan() {
    return hidden.plan;
  }

  @Override
  public Seq<Attribute> output() {
    return hidden.plan.output();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return hidden.plan.execute();
  }

  /** Has a raw type, since Java sees different types in Scala's two declarations of this method. */
  @Override
  @SuppressWarnings({"rawtypes", "unchecked"})
  public Seq innerChildren() {
    return hidden.depth <= MOST_SHOWN
        ? ScalaInterop.<SparkPlan>seq(List.of(hidden.plan))
        : ScalaInterop.<SparkPlan>emptySeq();
  }

  @Override
  protected List<Object> fields() {
    return List.of(hidden);
  }
}
