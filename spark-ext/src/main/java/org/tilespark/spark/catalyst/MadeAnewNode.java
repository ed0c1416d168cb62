package org.tilespark.spark.catalyst;

import java.util.List;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/**
 * A logical node whose output columns are new, computed from columns that it reads from a child,
 * and perhaps from other children: these are further fields. Every output column has a fresh id,
 * since Spark distinguishes two instances of a relation by all of their ids.
 *
 * @param <S> type of the node's specification
 */
public abstract class MadeAnewNode<S> extends LogicalBlockNode implements MultiInstanceRelation {
  private static final int PRODUCED = 2; // position of the produced columns among the fields

  private final S spec;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final LogicalPlan child;

  protected MadeAnewNode(
      S spec, Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan child) {
    this.spec = spec;
    this.inputs = inputs;
    this.produced = produced;
    this.child = child;
  }

  /** The node's specification. */
  public final S spec() {
    return spec;
  }

  /** The columns that the node reads, starting with those of the first child. */
  public final Seq<Attribute> inputs() {
    return inputs;
  }

  /** The output columns, which are made of {@link #inputs}. */
  public final Seq<Attribute> produced() {
    return produced;
  }

  /** The child, or the first of several children. */
  public final LogicalPlan child() {
    return child;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  /**
   * A copy whose output columns have fresh ids, so that both sides of a self-join can be
   * distinguished.
   */
  @Override
  public LogicalPlan newInstance() {
    Object[] fields = fields().toArray();
    fields[PRODUCED] = Attributes.fresh(produced);
    return (LogicalPlan) makeCopy(fields);
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + spec;
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, child);
  }
}
