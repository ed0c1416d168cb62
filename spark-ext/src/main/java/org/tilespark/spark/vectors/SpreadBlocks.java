package org.tilespark.spark.vectors;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.MadeAnewNode;
import scala.collection.immutable.Seq;

/**
 * Turns a matrix of blocks into a row for each matrix row, or for each element: see {@link
 * SpreadSpec}.
 */
public final class SpreadBlocks extends MadeAnewNode<SpreadSpec> {
  private static final long serialVersionUID = 1;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child, in the positions that {@code spec} has
   * @param produced the output, in the order that {@code spec} has
   */
  public SpreadBlocks(
      SpreadSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan child) {
    super(spec, inputs, produced, child);
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.ofPieces(child());
  }
}
