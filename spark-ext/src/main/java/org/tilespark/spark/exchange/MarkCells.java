package org.tilespark.spark.exchange;

import java.util.Objects;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * For each array, one row without values for every cell of the target tiling: where the cell's
 * block begins and ends. By these a block is missed of which no piece is there.
 */
public final class MarkCells extends LogicalPlan implements MultiInstanceRelation {
  private static final long serialVersionUID = 1;

  private final AssembleSpec spec;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final LogicalPlan child;

  /**
   * The node over {@code child}, which gives one row per array.
   *
   * @param inputs columns of the child: the array's extents, then the grouping columns
   * @param produced the output: as that of {@link CutBlocks}
   */
  public MarkCells(
      AssembleSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan child) {
    this.spec = spec;
    this.inputs = inputs;
    this.produced = produced;
    this.child = child;
  }

  /** How blocks are assembled. */
  public AssembleSpec spec() {
    return spec;
  }

  /** The child's columns that are read. */
  public Seq<Attribute> inputs() {
    return inputs;
  }

  /** This node's output. */
  public Seq<Attribute> produced() {
    return produced;
  }

  /** The only child. */
  public LogicalPlan child() {
    return child;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.ofMarks(Math.max(1, spec.predicted().blocks()), produced.size(), child);
  }

  @Override
  public AttributeSet producedAttributes() {
    return Attributes.set(produced);
  }

  /** A copy with fresh ids, so that both sides of a self-join can be told apart. */
  @Override
  public LogicalPlan newInstance() {
    return new MarkCells(spec, inputs, Attributes.fresh(produced), child);
  }

  @Override
  public Seq<LogicalPlan> children() {
    return ScalaInterop.seq(child);
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> newChildren) {
    return new MarkCells(spec, inputs, produced, newChildren.apply(0));
  }

  @Override
  public String simpleString(int maxFields) {
    return "MarkCells " + spec.kind().label();
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
    return that instanceof MarkCells;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof MarkCells that
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
