package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * The products of the elements of two volumes at equal places, block by block: both are cut alike.
 * Output: as the first one's, complex if one of the two is.
 */
public final class MultiplyPointwise extends LogicalBlockNode implements MultiInstanceRelation {
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
    LogicalPlan right = Attributes.distinctFrom(first, second);
    BlockFrame a = BlockFrame.combined(first, BlockKind.VOLUME, operator, ", first volume");
    BlockFrame b = BlockFrame.combined(right, BlockKind.VOLUME, operator, ", second volume");
    Agreement agreement = new Agreement(a, b, operator);
    agreement.require();
    agreement.requireSameAxes();
    List<Attribute> partners = agreement.partners();
    boolean isComplex = a.blocks().isComplex() || b.blocks().isComplex();
    BlockSchema out = canonical(a.blocks(), isComplex);
    return new MultiplyPointwise(
        new PointwiseSpec(
            canonical(a.blocks(), a.blocks().isComplex()),
            canonical(b.blocks(), b.blocks().isComplex()),
            out,
            ScalaInterop.option(a.extents().or(b::extents)),
            operator),
        ScalaInterop.seq(inputs(a, a.further())),
        ScalaInterop.seq(inputs(b, partners)),
        ScalaInterop.seq(produced(a, isComplex)),
        first,
        right);
  }

  private static List<Attribute> produced(BlockFrame like, boolean isComplex) {
    ArrayMetadata metadata = like.metadata().ofComputed(like.blocks().elementType(), isComplex);
    List<Attribute> produced = new ArrayList<>();
    for (int position : like.blocks().blockColumns()) {
      boolean isPlane = like.blocks().planes().contains(position);
      if (!like.blocks().isImag(position)) {
        Attribute column = like.produce(position);
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

  private static BlockSchema canonical(BlockSchema like, boolean isComplex) {
    return BlockSchema.canonical(like.kind(), isComplex, like.elementType());
  }

  private static List<Attribute> inputs(BlockFrame side, List<Attribute> furtherInOrder) {
    List<Attribute> inputs = new ArrayList<>(side.block());
    inputs.addAll(furtherInOrder);
    return inputs;
  }

  /** The physical node over the plans of both volumes. */
  public SparkPlan exec(SparkPlan plannedLeft, SparkPlan plannedRight) {
    return new MultiplyPointwiseExec(
        spec, leftInputs, rightInputs, produced, plannedLeft, plannedRight);
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
