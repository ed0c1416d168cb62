package org.tilespark.spark.catalyst;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.Seq;

/**
 * A physical node over one child whose output columns are new, computed from columns that it reads:
 * the counterpart of {@link MadeAnewNode}.
 *
 * @param <S> type of the node's specification
 */
public abstract class MadeAnewExec<S> extends PhysicalBlockNode {
  protected final S spec;
  protected final Seq<Attribute> inputs;
  protected final Seq<Attribute> produced;
  protected final SparkPlan child;

  protected MadeAnewExec(S spec, Seq<Attribute> inputs, Seq<Attribute> produced, SparkPlan child) {
    this.spec = spec;
    this.inputs = inputs;
    this.produced = produced;
    this.child = child;
  }

  /** The node's specification. */
  public final S spec() {
    return spec;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName() + " " + spec;
  }

  /** The text of EXPLAIN FORMATTED: {@code details}, then the columns on both sides. */
  protected final String verbose(String details) {
    return "%s%s\nInput: %s\nOutput: %s\n"
        .formatted(
            formattedNodeName(),
            details,
            ScalaInterop.list(child.output()),
            ScalaInterop.list(output()));
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, child);
  }
}
