package org.tilespark.spark.exchange;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.types.Metadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.MadeAnewNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * Cuts every block into pieces inside the cells of a tiling, and gives every piece the keys by
 * which it will be shuffled; a piece is sent once to each place that needs it. A piece is itself a
 * block: the output is the key columns, then a block with its further columns.
 *
 * <p>{@code inputs} and {@code produced} are parallel lists: the columns that are read from the
 * child, and the corresponding columns of the output after the keys.
 */
public final class CutBlocks extends MadeAnewNode<CutSpec> {
  private static final long serialVersionUID = 1;

  private final Seq<Attribute> keys;

  /** A constructor for Catalyst, which uses it to copy nodes; other code calls {@link #of}. */
  public CutBlocks(
      CutSpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> keys,
      Seq<Attribute> produced,
      LogicalPlan child) {
    super(spec, inputs, produced, child);
    this.keys = keys;
  }

  /**
   * The node over {@code child}, whose columns are all kept with the pieces.
   *
   * @throws IllegalArgumentException if {@code child} has no blocks of the kind; see {@link
   *     BlockSchema}
   */
  public static CutBlocks of(LogicalPlan child, CutSpec spec) {
    BlockFrame frame = BlockFrame.of(child, spec.kind(), spec.operator());
    List<Attribute> produced =
        IntStream.range(0, frame.columns().size()).mapToObj(frame::produce).toList();
    List<Attribute> keys =
        spec.keys().columns().stream()
            .map(key -> Attributes.column(key.name(), key.type(), Metadata.empty()))
            .toList();
    return new CutBlocks(
        spec,
        ScalaInterop.seq(frame.columns()),
        ScalaInterop.seq(keys),
        ScalaInterop.seq(produced),
        child);
  }

  /** The block columns' ordinals in {@link #produced}. */
  public BlockSchema blocks() {
    return blocks(spec(), ScalaInterop.list(produced()));
  }

  /** The block columns' ordinals in {@code produced}, the columns of pieces after the keys. */
  static BlockSchema blocks(CutSpec spec, List<Attribute> produced) {
    return BlockSchema.find(Attributes.schema(produced), spec.kind(), spec.operator());
  }

  /** The key columns, as {@link PieceKeys#columns} names them. */
  public Seq<Attribute> keys() {
    return keys;
  }

  @Override
  public Seq<Attribute> output() {
    List<Attribute> all = ScalaInterop.list(keys);
    all.addAll(ScalaInterop.list(produced()));
    return ScalaInterop.seq(all);
  }

  @Override
  public Statistics stats() {
    return BlockStatistics.ofPieces(child());
  }

  /**
   * A copy whose output columns have fresh ids, so that both sides of a self-join can be
   * distinguished.
   */
  @Override
  public LogicalPlan newInstance() {
    return new CutBlocks(
        spec(), inputs(), Attributes.fresh(keys), Attributes.fresh(produced()), child());
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec(), inputs(), keys, produced(), child());
  }
}
