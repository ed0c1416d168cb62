package org.tilespark.spark.exchange;

import java.util.Iterator;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.catalyst.SameRowsExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import scala.Option;
import scala.collection.immutable.Seq;

/** Runs {@link CheckedBlocks}: the blocks' rows pass through unchanged. */
public final class CheckedBlocksExec extends SameRowsExec {
  private static final long serialVersionUID = 1;

  private final Option<GridCheck> grid;
  private final Seq<Attribute> places;
  private final Seq<Attribute> found;
  private final Seq<SparkPlan> checks;

  /**
   * The node over blocks.
   *
   * @param grid check of each block; empty for no check
   * @param places columns of {@code blocks}: offsets, then sizes; empty without {@code grid}
   * @param found columns of the second plan
   * @param checks the second plan, which runs first; empty if there is none
   */
  public CheckedBlocksExec(
      Option<GridCheck> grid,
      Seq<Attribute> places,
      Seq<Attribute> found,
      SparkPlan blocks,
      Seq<SparkPlan> checks) {
    super(blocks);
    this.grid = grid;
    this.places = places;
    this.found = found;
    this.checks = checks;
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    return checks.isEmpty()
        ? ScalaInterop.<Distribution>seq(Exchange.anywhere())
        : ScalaInterop.<Distribution>seq(Exchange.anywhere(), Exchange.everywhere());
  }

  @Override
  public RDD<InternalRow> doExecute() {
    if (!checks.isEmpty()) {
      // Waits for the second plan, and fails if it fails.
      ErrorBoundary.await(checks.head()::executeBroadcast);
    }
    RDD<InternalRow> rows = child.execute();
    return grid.isEmpty()
        ? rows
        : new Check(grid.get(), ChildColumns.ordinals(this, child, places))
            .over(rows, InternalRow.class, true);
  }

  /** Checks the blocks of one partition. */
  private record Check(GridCheck grid, List<Integer> ordinals)
      implements PartitionTask<InternalRow, InternalRow> {
    @Override
    public Iterator<InternalRow> open(Iterator<InternalRow> rows) {
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return rows.hasNext();
        }

        @Override
        public InternalRow next() {
          InternalRow row = rows.next();
          grid.check(row, ordinals);
          return row;
        }
      };
    }
  }

  @Override
  public String simpleString(int maxFields) {
    return "CheckedBlocks" + (grid.isEmpty() ? "" : " " + grid.get());
  }

  @Override
  protected List<Object> fields() {
    return List.of(grid, places, found, child, checks);
  }
}
