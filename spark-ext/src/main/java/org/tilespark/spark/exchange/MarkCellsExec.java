package org.tilespark.spark.exchange;

import java.util.List;
import java.util.Objects;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Runs {@link MarkCells}. */
public final class MarkCellsExec extends SparkPlan {
  private static final long serialVersionUID = 1;

  private final AssembleSpec spec;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final SparkPlan child;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child: the array's extents, then the grouping columns
   * @param produced the output
   */
  public MarkCellsExec(
      AssembleSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, SparkPlan child) {
    this.spec = spec;
    this.inputs = inputs;
    this.produced = produced;
    this.child = child;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public AttributeSet producedAttributes() {
    return Attributes.set(produced);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    List<Integer> ordinals = ChildColumns.ordinals(this, child, inputs);
    int rank = spec.kind().rank();
    return child
        .execute()
        .mapPartitions(
            new MarkTask(
                spec,
                List.copyOf(ordinals.subList(0, rank)),
                List.copyOf(ordinals.subList(rank, ordinals.size())),
                Attributes.schema(ScalaInterop.list(produced))),
            false,
            ScalaInterop.classTag(InternalRow.class));
  }

  @Override
  public String nodeName() {
    return "MarkCells";
  }

  @Override
  public String simpleString(int maxFields) {
    return "MarkCells " + spec.kind().label();
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName()
        + "\nInput: "
        + ScalaInterop.list(child.output())
        + "\nOutput: "
        + ScalaInterop.list(output())
        + "\n";
  }

  @Override
  public Seq<SparkPlan> children() {
    return ScalaInterop.seq(child);
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> newChildren) {
    return new MarkCellsExec(spec, inputs, produced, newChildren.apply(0));
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> spec;
      case 1 -> inputs;
      case 2 -> produced;
      case 3 -> child;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof MarkCellsExec;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof MarkCellsExec that
        && spec.equals(that.spec)
        && inputs.equals(that.inputs)
        && produced.equals(that.produced)
        && child.equals(that.child);
  }

  @Override
  public int hashCode() {
    return Objects.hash(spec, inputs, produced, child);
  }
}
