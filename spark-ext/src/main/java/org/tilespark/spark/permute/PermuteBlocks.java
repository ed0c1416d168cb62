package org.tilespark.spark.permute;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Reorders the axes of every block: places and sizes change columns, values move inside each block.
 * Row by row, no shuffle; further columns pass through.
 *
 * <p>{@code inputs} and {@code produced} are parallel lists of all columns: those of the child that
 * are read, and what stands in their places in the output under fresh ids. Further columns have
 * fresh ids too, since Spark tells two instances of a relation apart by all of their ids.
 */
public final class PermuteBlocks extends LogicalBlockNode implements MultiInstanceRelation {
  private static final long serialVersionUID = 1;

  private final BlockKind kind;
  private final Permutation permutation;
  private final Option<Shape> extents;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final LogicalPlan child;

  /** For Catalyst, which copies nodes through this constructor; others call {@link #of}. */
  public PermuteBlocks(
      BlockKind kind,
      Permutation permutation,
      Option<Shape> extents,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      LogicalPlan child) {
    this.kind = kind;
    this.permutation = permutation;
    this.extents = extents;
    this.inputs = inputs;
    this.produced = produced;
    this.child = child;
  }

  /**
   * The node over {@code child}, whose block columns are found by name.
   *
   * @param operator who asks, for messages
   * @throws IllegalArgumentException if {@code child} has no such blocks; see {@link BlockSchema}
   */
  public static PermuteBlocks of(
      LogicalPlan child, BlockKind kind, Permutation permutation, String operator) {
    BlockSchema blocks = BlockSchema.find(child.schema(), kind, operator);
    List<Attribute> inputs = ScalaInterop.list(child.output());
    List<Attribute> produced = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      produced.add(PermutedColumns.produce(inputs.get(i), i, blocks, permutation));
    }
    return new PermuteBlocks(
        kind,
        permutation,
        ScalaInterop.option(
            ArrayMetadata.of(inputs.get(blocks.values()).metadata()).extents(kind.rank())),
        ScalaInterop.seq(inputs),
        ScalaInterop.seq(produced),
        child);
  }

  /** Matrix or volume. */
  public BlockKind kind() {
    return kind;
  }

  /** Output axis {@code i} is input axis {@code permutation.axis(i)}. */
  public Permutation permutation() {
    return permutation;
  }

  /**
   * Extents of the whole input array as its metadata stated them when the node was made; kept here,
   * since Spark's optimizer drops metadata of columns that it finds redundant.
   */
  public Option<Shape> extents() {
    return extents;
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

  /** Which attribute of the child gives the content of which of this node's. */
  public PermutedColumns columns() {
    return new PermutedColumns(
        kind, permutation, ScalaInterop.list(inputs), ScalaInterop.list(produced));
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public Statistics stats() {
    List<Attribute> output = ScalaInterop.list(produced);
    BlockSchema blocks = BlockStatistics.blocks(output, kind);
    Optional<Shape> known =
        ArrayMetadata.of(output.get(blocks.values()).metadata()).extents(kind.rank());
    return BlockStatistics.of(
        output, blocks, new BlockStatistics.Input(child, blocks, known), false);
  }

  @Override
  public Option<Object> maxRows() {
    return child.maxRows();
  }

  /** A copy with fresh ids, so that both sides of a self-join can be told apart. */
  @Override
  public LogicalPlan newInstance() {
    List<Attribute> fresh = new ArrayList<>();
    for (Attribute attribute : ScalaInterop.list(produced)) {
      fresh.add(attribute.newInstance());
    }
    return new PermuteBlocks(kind, permutation, extents, inputs, ScalaInterop.seq(fresh), child);
  }

  @Override
  public String simpleString(int maxFields) {
    return "PermuteBlocks " + kind.label() + " " + kind.axesText(permutation);
  }

  @Override
  protected List<Object> fields() {
    return List.of(kind, permutation, extents, inputs, produced, child);
  }
}
