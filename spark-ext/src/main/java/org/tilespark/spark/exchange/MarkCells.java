package org.tilespark.spark.exchange;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.MadeAnewNode;
import scala.collection.immutable.Seq;

/**
 * Gives one mark row, without values, for every cell of each array's target tiling: the bounds of
 * the cell's block. Without marks, a block without any piece would not be noticed.
 */
public final class MarkCells extends MadeAnewNode<AssembleSpec> {
  private static final long serialVersionUID = 1;

  /**
   * The node over {@code child}, which gives one row per array.
   *
   * @param inputs columns of the child: the array's extents, then the grouping columns
   * @param produced output columns, as those of {@link CutBlocks}
   */
  public MarkCells(
      AssembleSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan child) {
    super(spec, inputs, produced, child);
  }

  @Override
  public boolean coordinatesAreCheap() {
    return true; // the arrays of the child are read for the blocks, too
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.ofMarks(
        Math.max(1, spec().predicted().count()), produced().size(), child());
  }

  @Override
  public String simpleString(int maxFields) {
    return "MarkCells " + spec().kind().label();
  }
}
