package org.tilespark.spark.exchange;

import java.util.List;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import scala.collection.immutable.Seq;

/**
 * For each array, one row without values for every cell of the target tiling: where the cell's
 * block begins and ends. By these a block is missed of which no piece is there.
 */
public final class MarkCells extends LogicalBlockNode implements MultiInstanceRelation {
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

  /** A copy with fresh ids, so that both sides of a self-join can be told apart. */
  @Override
  public LogicalPlan newInstance() {
    return new MarkCells(spec, inputs, Attributes.fresh(produced), child);
  }

  @Override
  public String simpleString(int maxFields) {
    return "MarkCells " + spec.kind().label();
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, child);
  }
}
