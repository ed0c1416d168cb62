package org.tilespark.spark.exchange;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * Assembles the blocks of a tiling from pieces that lie in one of its cells each. The child gives
 * the place of the cell, then the columns of the pieces, and for each cell one mark that says where
 * its block ends: {@link CutBlocks} and {@link MarkCells}.
 */
public final class AssembleBlocks extends LogicalBlockNode
    implements PlacesBlocks, MultiInstanceRelation {
  private static final long serialVersionUID = 1;

  private final AssembleSpec spec;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final LogicalPlan child;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child: one key per axis, then those of the pieces
   * @param produced the output; what becomes of {@code inputs} after the keys, position by position
   */
  public AssembleBlocks(
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

  /** By grouping columns, then the blocks' places. */
  @Override
  public Optional<HashPartitioning> partitioning(SparkContext context) {
    List<Attribute> columns = ScalaInterop.list(produced);
    BlockSchema blocks = BlockSchema.find(Attributes.schema(columns), spec.kind(), spec.operator());
    List<Attribute> place = new ArrayList<>(blocks.further(columns));
    blocks.offsets().forEach(ordinal -> place.add(columns.get(ordinal)));
    return Optional.of(Exchange.by(place, Exchange.partitions()));
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
    List<Attribute> output = ScalaInterop.list(produced);
    BlockSchema blocks = BlockStatistics.blocks(output, spec.kind());
    Optional<Shape> known =
        ArrayMetadata.of(output.get(blocks.values()).metadata()).extents(spec.kind().rank());
    return BlockStatistics.of(
        output, blocks, new BlockStatistics.Input(child, blocks, known), true);
  }

  /** A copy with fresh ids, so that both sides of a self-join can be told apart. */
  @Override
  public LogicalPlan newInstance() {
    return new AssembleBlocks(spec, inputs, Attributes.fresh(produced), child);
  }

  @Override
  public String simpleString(int maxFields) {
    return "AssembleBlocks " + spec;
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, child);
  }
}
