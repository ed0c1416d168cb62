package org.tilespark.spark.exchange;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Passes on blocks after checks: of each block separately, and of all blocks together by a second
 * plan that runs first and fails if they are wrong. The second plan's rows are ignored.
 *
 * <p>This is a separate node so that the checks stay in place. A filter would not do: Spark moves
 * its condition below joins, where it would check blocks that the join removes, and drops joins and
 * filters over plans that it finds to be empty.
 */
public final class CheckedBlocks extends LogicalBlockNode {
  private static final long serialVersionUID = 1;

  private final Option<GridCheck> grid;
  private final Seq<Attribute> places;
  private final Seq<Attribute> found;
  private final LogicalPlan blocks;
  private final Seq<LogicalPlan> checks;

  /**
   * The node over blocks.
   *
   * @param grid check of each block; empty for no check
   * @param places columns of {@code blocks}: offsets, then sizes; empty without {@code grid}
   * @param found columns of the second plan; they are listed so that Spark does not prune them
   * @param checks the second plan; empty if there is none
   */
  public CheckedBlocks(
      Option<GridCheck> grid,
      Seq<Attribute> places,
      Seq<Attribute> found,
      LogicalPlan blocks,
      Seq<LogicalPlan> checks) {
    this.grid = grid;
    this.places = places;
    this.found = found;
    this.blocks = blocks;
    this.checks = checks;
  }

  /** The node that passes on blocks if a second plan runs without an error. */
  public static CheckedBlocks of(LogicalPlan blocks, LogicalPlan checks) {
    return new CheckedBlocks(
        ScalaInterop.none(),
        ScalaInterop.emptySeq(),
        checks.output(),
        blocks,
        ScalaInterop.<LogicalPlan>seq(checks));
  }

  /** This node with the check of each block, but without the second plan. */
  public CheckedBlocks withoutChecks() {
    return new CheckedBlocks(
        grid, places, ScalaInterop.emptySeq(), blocks, ScalaInterop.emptySeq());
  }

  /** This node with another second plan that has the same columns. */
  public CheckedBlocks withChecks(LogicalPlan newChecks) {
    return new CheckedBlocks(grid, places, found, blocks, ScalaInterop.<LogicalPlan>seq(newChecks));
  }

  /** This node over other blocks with the same columns. */
  public CheckedBlocks withBlocks(LogicalPlan newBlocks) {
    return new CheckedBlocks(grid, places, found, newBlocks, checks);
  }

  /** The check of each block; empty if there is none. */
  public Option<GridCheck> grid() {
    return grid;
  }

  /** Columns of the blocks' offsets, then of their sizes; empty if blocks are not checked each. */
  public Seq<Attribute> places() {
    return places;
  }

  /** The columns of the second plan. */
  public Seq<Attribute> found() {
    return found;
  }

  /** The plan of the blocks that the node passes on. */
  public LogicalPlan blocks() {
    return blocks;
  }

  /** The second plan, which runs first; empty if there is none. */
  public Seq<LogicalPlan> checks() {
    return checks;
  }

  @Override
  public Seq<Attribute> output() {
    return blocks.output();
  }

  @Override
  public boolean coordinatesAreCheap() {
    return coordinatesAreCheap(blocks);
  }

  @Override
  public Statistics stats() {
    return blocks.stats();
  }

  @Override
  public String simpleString(int maxFields) {
    return "CheckedBlocks" + (grid.isEmpty() ? "" : " " + grid.get());
  }

  @Override
  protected List<Object> fields() {
    return List.of(grid, places, found, blocks, checks);
  }
}
