package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.GivesPlaces;
import org.tilespark.spark.catalyst.MadeAnewNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * Assembles the blocks of a tiling from pieces ({@link CutBlocks}), each inside one cell of the
 * tiling. The child's columns are the place of the cell, then those of the pieces. For each cell
 * the child also gives one mark row, which says where the cell's block ends ({@link MarkCells}),
 * unless {@link AssembleSpec#unmarked()} states the extents.
 */
public final class AssembleBlocks extends MadeAnewNode<AssembleSpec>
    implements PartitionsBlocks, GivesPlaces {
  private static final long serialVersionUID = 1;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child: one key per axis, then the pieces' columns
   * @param produced output columns, which correspond to {@code inputs} without the keys, position
   *     by position
   */
  public AssembleBlocks(
      AssembleSpec spec, Seq<Attribute> inputs, Seq<Attribute> produced, LogicalPlan child) {
    super(spec, inputs, produced, child);
  }

  /** The block columns' ordinals in {@link #produced}. */
  public BlockSchema blocks() {
    return BlockSchema.find(
        Attributes.schema(ScalaInterop.list(produced())), spec().kind(), spec().operator());
  }

  /**
   * The node below that cuts the blocks, if this node assembles the same array in other blocks.
   * Empty if the result is another array, or if further columns identify several arrays.
   */
  public Optional<CutBlocks> sameArray() {
    LogicalPlan pieces = child() instanceof PieceUnion union ? union.pieces() : child();
    return pieces instanceof CutBlocks cut
            && spec().images().isEmpty()
            && blocks().further(ScalaInterop.<Attribute>list(produced())).isEmpty()
        ? Optional.of(cut)
        : Optional.empty();
  }

  @Override
  public boolean givesAllCells() {
    return spec().images().isEmpty();
  }

  /**
   * The blocks are partitioned by grouping columns, then by their places, if these are the cells'
   * places.
   */
  @Override
  public Optional<BlockPartitioning> partitioning(SparkContext context) {
    if (Exchange.isOneTask(child(), spec()) || !spec().areInCells()) {
      return Optional.empty();
    }
    List<Attribute> columns = ScalaInterop.list(produced());
    BlockSchema blocks = blocks();
    List<Attribute> place = new ArrayList<>(blocks.further(columns));
    blocks.offsets().forEach(ordinal -> place.add(columns.get(ordinal)));
    return Optional.of(BlockPartitioning.by(place, Exchange.partitions(context, spec())));
  }

  /** The plan of the marks, which have the places of all blocks. */
  @Override
  public Optional<LogicalPlan> places() {
    if (!(child() instanceof PieceUnion union) || !(union.marks() instanceof MarkCells marks)) {
      return Optional.empty();
    }
    List<Attribute> columns = ScalaInterop.list(produced());
    List<Attribute> marked = ScalaInterop.list(marks.produced());
    int keys = inputs().size() - columns.size();
    BlockSchema schema = blocks();
    List<NamedExpression> list = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      if (!schema.planes().contains(i)) {
        list.add(Attributes.as(marked.get(keys + i), columns.get(i)));
      }
    }
    return Optional.of(new Project(ScalaInterop.seq(list), marks));
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.ofBlocks(output(), spec().kind(), child());
  }
}
