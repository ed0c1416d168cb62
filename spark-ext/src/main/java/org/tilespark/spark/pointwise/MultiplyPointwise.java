package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.block.Streaming;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.CutBlocks;
import org.tilespark.spark.fourier.Spectrum;
import org.tilespark.spark.multiply.MultiplyPlans;
import scala.collection.immutable.Seq;

/**
 * The products of the elements of two volumes at equal places, block by block: both are cut alike.
 * Output: as the first one's, complex if one of the two is.
 */
public final class MultiplyPointwise extends LogicalBlockNode implements MultiInstanceRelation {
  private static final long serialVersionUID = 1;

  private final PointwiseSpec spec;
  private final Seq<Attribute> leftInputs;
  private final Seq<Attribute> rightInputs;
  private final Seq<Attribute> produced;
  private final LogicalPlan left;
  private final LogicalPlan right;

  /** For Catalyst, which copies nodes through this constructor; others call {@link #of}. */
  public MultiplyPointwise(
      PointwiseSpec spec,
      Seq<Attribute> leftInputs,
      Seq<Attribute> rightInputs,
      Seq<Attribute> produced,
      LogicalPlan left,
      LogicalPlan right) {
    this.spec = spec;
    this.leftInputs = leftInputs;
    this.rightInputs = rightInputs;
    this.produced = produced;
    this.left = left;
    this.right = right;
  }

  /**
   * The node over two volumes.
   *
   * @throws IllegalArgumentException if one has no volume blocks of FLOAT or DOUBLE, or they differ
   *     in type, stated extents, order of axes, the transforms that made them, or further columns
   */
  public static LogicalPlan of(LogicalPlan first, LogicalPlan second, String operator) {
    LogicalPlan right = MultiplyPlans.distinctFrom(first, second);
    Side a = Side.of(first, "first", operator);
    Side b = Side.of(right, "second", operator);
    if (a.blocks().elementType() != b.blocks().elementType()) {
      throw new IllegalArgumentException(
          operator
              + ": the values of the first volume are "
              + a.typeText()
              + ", of the second "
              + b.typeText()
              + "; expected one type, so CAST one of them");
    }
    requireSame(operator, "extents", ArrayMetadata.EXTENTS, a.extents(), b.extents());
    requireSame(operator, "axes", ArrayMetadata.AXES, a.metadata().axes(), b.metadata().axes());
    requireSpectraThatFit(operator, a.metadata(), b.metadata());
    List<Attribute> partners = new ArrayList<>();
    for (Attribute column : a.further()) {
      partners.add(
          GroupingColumns.named(b.further(), column)
              .filter(partner -> partner.dataType().sameType(column.dataType()))
              .orElseThrow(() -> differentColumns(a, b, operator)));
    }
    if (partners.size() != b.further().size()) {
      throw differentColumns(a, b, operator);
    }
    boolean isComplex = a.blocks().isComplex() || b.blocks().isComplex();
    BlockSchema out = canonical(a.blocks(), isComplex);
    return new MultiplyPointwise(
        new PointwiseSpec(
            canonical(a.blocks(), a.blocks().isComplex()),
            canonical(b.blocks(), b.blocks().isComplex()),
            out,
            ScalaInterop.option(a.extents().or(b::extents)),
            operator),
        ScalaInterop.seq(a.inputs(a.further())),
        ScalaInterop.seq(b.inputs(partners)),
        ScalaInterop.seq(produced(a, isComplex)),
        first,
        right);
  }

  private static List<Attribute> produced(Side like, boolean isComplex) {
    ArrayMetadata metadata = like.metadata().ofComputed(like.blocks().elementType(), isComplex);
    List<Attribute> produced = new ArrayList<>();
    for (int position : like.blocks().blockColumns()) {
      boolean isPlane = like.blocks().planes().contains(position);
      if (position != like.blocks().imag()) {
        Attribute column = CutBlocks.produce(like.columns().get(position), position, like.blocks());
        produced.add(isPlane ? (Attribute) column.withMetadata(metadata.toMetadata()) : column);
      }
    }
    if (isComplex) {
      produced.add(
          Attributes.column(
              BlockKind.IMAG,
              DataTypes.createArrayType(BlockSchema.sparkType(like.blocks().elementType()), false),
              metadata.toMetadata()));
    }
    like.further().forEach(column -> produced.add(column.newInstance()));
    return produced;
  }

  /** Block columns first, in their usual order. */
  private static BlockSchema canonical(BlockSchema like, boolean isComplex) {
    int rank = like.kind().rank();
    return new BlockSchema(
        like.kind(),
        IntStream.range(0, rank).boxed().toList(),
        IntStream.range(rank, 2 * rank).boxed().toList(),
        2 * rank,
        isComplex ? 2 * rank + 1 : -1,
        like.elementType());
  }

  private static void requireSame(
      String operator, String what, String key, Optional<?> a, Optional<?> b) {
    if (a.isPresent() && b.isPresent() && !a.equals(b)) {
      throw new IllegalArgumentException(
          operator
              + ": the "
              + what
              + " of the first volume are "
              + a.get()
              + ", of the second "
              + b.get()
              + " by the column metadata "
              + key
              + "; expected the same");
    }
  }

  /**
   * Checks that elements of two spectra at equal places belong to equal frequencies, and that one
   * inverse undoes both transforms. A volume that no transform made, a filter, fits every spectrum.
   *
   * @param operator who asks, for messages
   * @throws IllegalArgumentException if the two are spectra that differ in the order of their axes
   *     or in the transforms that made them, by the column metadata
   */
  public static void requireSpectraThatFit(
      String operator, ArrayMetadata first, ArrayMetadata second) {
    if (first.spectrum().isEmpty() || second.spectrum().isEmpty()) {
      return;
    }
    requireSame(operator, "axes", ArrayMetadata.AXES, first.axes(), second.axes());
    Optional<String> difference =
        Spectrum.difference(
            Spectrum.all(first.spectrum().get()), Spectrum.all(second.spectrum().get()));
    if (difference.isPresent()) {
      throw new IllegalArgumentException(
          operator
              + ": the two spectra differ in "
              + difference.get()
              + ", by the column metadata "
              + ArrayMetadata.SPECTRUM
              + "; expected the same, so transform both volumes with the same options");
    }
  }

  private static IllegalArgumentException differentColumns(Side a, Side b, String operator) {
    return new IllegalArgumentException(
        operator
            + ": further columns tell several volumes apart and must be the same on both sides; the"
            + " first has ("
            + a.furtherText()
            + "), the second ("
            + b.furtherText()
            + "). Drop those that are no part of the key");
  }

  /** One of the two volumes. */
  private record Side(List<Attribute> columns, BlockSchema blocks, List<Attribute> further) {
    static Side of(LogicalPlan plan, String which, String operator) {
      Streaming.refuse(operator, plan);
      String who = operator + ", " + which + " volume";
      BlockSchema blocks = BlockSchema.find(plan.schema(), BlockKind.VOLUME, who);
      List<Attribute> columns = ScalaInterop.list(plan.output());
      ElementType type = blocks.elementType();
      if (type != ElementType.FLOAT32 && type != ElementType.FLOAT64) {
        throw new IllegalArgumentException(
            who
                + ": column values is "
                + columns.get(blocks.values()).dataType().sql()
                + "; expected ARRAY<FLOAT> or ARRAY<DOUBLE> (CAST it)");
      }
      List<Attribute> further = GroupingColumns.of(blocks, columns, who);
      return new Side(columns, blocks, further);
    }

    ArrayMetadata metadata() {
      return ArrayMetadata.of(columns.get(blocks.values()).metadata());
    }

    Optional<Shape> extents() {
      return metadata().extents(blocks.kind().rank());
    }

    List<Attribute> inputs(List<Attribute> furtherInOrder) {
      List<Attribute> inputs = new ArrayList<>();
      blocks.blockColumns().forEach(position -> inputs.add(columns.get(position)));
      inputs.addAll(furtherInOrder);
      return inputs;
    }

    String typeText() {
      return columns.get(blocks.values()).dataType().sql();
    }

    String furtherText() {
      return GroupingColumns.text(List.of(Attributes.schema(further).fields()));
    }
  }

  /** What is multiplied with what. */
  public PointwiseSpec spec() {
    return spec;
  }

  /** The first one's columns: its block, then further ones. */
  public Seq<Attribute> leftInputs() {
    return leftInputs;
  }

  /** The second one's columns, further ones in the order of the first one's. */
  public Seq<Attribute> rightInputs() {
    return rightInputs;
  }

  /** This node's output. */
  public Seq<Attribute> produced() {
    return produced;
  }

  /** The first volume. */
  public LogicalPlan left() {
    return left;
  }

  /** The second volume. */
  public LogicalPlan right() {
    return right;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public Statistics stats() {
    Optional<Shape> known = Optional.ofNullable(spec.extents().getOrElse(() -> null));
    return BlockStatistics.of(
        ScalaInterop.list(produced),
        spec.out(),
        new BlockStatistics.Input(left, spec.left(), known),
        false);
  }

  /** A copy with fresh ids, so that both sides of a self-join can be told apart. */
  @Override
  public LogicalPlan newInstance() {
    return new MultiplyPointwise(
        spec, leftInputs, rightInputs, Attributes.fresh(produced), left, right);
  }

  @Override
  public String simpleString(int maxFields) {
    return "MultiplyPointwise " + spec;
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, leftInputs, rightInputs, produced, left, right);
  }
}
