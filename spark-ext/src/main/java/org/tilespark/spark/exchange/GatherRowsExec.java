package org.tilespark.spark.exchange;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.ReadsBlocks;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Replaces an exchange by tasks that each read all partitions of a child, one after another: for
 * arrays small enough for one task, or if skipping rows of other tasks costs nothing. A task takes
 * the rows whose keys hash to it, as an exchange would send them. Since it sees all rows, it can
 * check that blocks are those of a tiling.
 */
public final class GatherRowsExec extends PhysicalBlockNode implements ReadsBlocks {
  private static final long serialVersionUID = 1;

  private final Option<GridCheck> grid;
  private final Seq<Attribute> places;
  private final Seq<Attribute> keys;
  private final int tasks;
  private final String reason;
  private final SparkPlan child;

  /**
   * The node over {@code child}.
   *
   * @param grid the tiling that an array's blocks must be; empty for no check
   * @param places columns of {@code child}: the blocks' offsets, then their sizes; empty without
   *     {@code grid}
   * @param keys columns by which rows are distributed to tasks; columns other than places
   *     distinguish arrays
   * @param tasks number of tasks that read all rows
   * @param reason the reason why there is no exchange, for EXPLAIN
   */
  public GatherRowsExec(
      Option<GridCheck> grid,
      Seq<Attribute> places,
      Seq<Attribute> keys,
      int tasks,
      String reason,
      SparkPlan child) {
    this.grid = grid;
    this.places = places;
    this.keys = keys;
    this.tasks = tasks;
    this.reason = reason;
    this.child = child;
  }

  /** A node that gives all rows to one task, unchecked. */
  public static GatherRowsExec intoOneTask(SparkPlan child) {
    return new GatherRowsExec(
        ScalaInterop.none(),
        ScalaInterop.emptySeq(),
        ScalaInterop.emptySeq(),
        1,
        "the array is small",
        child);
  }

  /**
   * The blocks of {@code checked}, gathered, and checked by the tasks in place of the second plan
   * of {@link CheckedBlocks}.
   *
   * @param child plan of these blocks
   */
  static GatherRowsExec checked(
      CheckedBlocks checked, List<Attribute> keys, int tasks, String reason, SparkPlan child) {
    return new GatherRowsExec(
        checked.grid(), checked.places(), ScalaInterop.seq(keys), tasks, reason, child);
  }

  @Override
  public Seq<Attribute> output() {
    return child.output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return tasks == 1 ? Exchange.onePartition() : Exchange.by(columns(), tasks);
  }

  private List<Attribute> columns() {
    return ScalaInterop.list(keys);
  }

  @Override
  public List<SparkPlan> blocks() {
    return List.of(child);
  }

  @Override
  public SparkPlan withBlocks(List<SparkPlan> blocks) {
    SparkPlan offered = blocks.get(0);
    return new GatherRowsExec(
        grid, places, keys, tasks, reason, offered.supportsRowBased() ? offered : child);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    RDD<InternalRow> rows = Exchange.gathered(child.execute(), InternalRow.class, tasks);
    if (tasks == 1 && grid.isEmpty()) {
      return rows;
    }
    List<Attribute> further =
        columns().stream()
            .filter(key -> Attributes.indexOf(ScalaInterop.list(places), key) < 0)
            .toList();
    List<Attribute> given = ScalaInterop.list(child.output());
    return new GatheredRows(
            Attributes.schema(given),
            BoundPartitioning.of(Exchange.by(columns(), tasks), given),
            further.isEmpty()
                ? ScalaInterop.none()
                : Option.apply(BoundPartitioning.of(Exchange.by(further, tasks), given)),
            grid,
            ChildColumns.ordinals(this, child, places),
            ChildColumns.ordinals(this, child, ScalaInterop.seq(further)))
        .of(rows);
  }

  @Override
  public String nodeName() {
    return "GatherRows";
  }

  @Override
  public String simpleString(int maxFields) {
    return "GatherRows into "
        + (tasks == 1
            ? "one task"
            : tasks
                + " tasks by ("
                + columns().stream().map(Attribute::name).collect(Collectors.joining(", "))
                + ")")
        + (grid.isEmpty() ? "" : ", checked as " + grid.get());
  }

  @Override
  public String verboseStringWithOperatorId() {
    return formattedNodeName()
        + "\n"
        + simpleString(Integer.MAX_VALUE)
        + "\nNo exchange: "
        + reason
        + "\n";
  }

  @Override
  protected List<Object> fields() {
    return List.of(grid, places, keys, tasks, reason, child);
  }
}
