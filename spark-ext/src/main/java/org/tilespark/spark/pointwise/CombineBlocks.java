package org.tilespark.spark.pointwise;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayMetadata;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.block.GroupingColumns;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.reblock.CommonCut;
import scala.collection.immutable.Seq;

/**
 * The sums or products of the elements of two arrays at equal places, block by block: {@link
 * CommonCut} has cut both alike. Output: as the first one's, complex if one of the two is.
 */
public final class CombineBlocks extends LogicalBlockNode implements MultiInstanceRelation {
  private final CombineSpec spec;
  private final Seq<Attribute> leftInputs;
  private final Seq<Attribute> rightInputs;
  private final Seq<Attribute> produced;
  private final LogicalPlan left;
  private final LogicalPlan right;

  /** For Catalyst, which copies nodes through this constructor; others call {@link #of}. */
  public CombineBlocks(
      CombineSpec spec,
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
   * The node over two arrays.
   *
   * @param agreement the two arrays, found to fit each other
   * @param missing what an element in no block is
   * @param asDataset makes a DataFrame of a plan
   */
  static LogicalPlan of(
      Combination combination,
      Agreement agreement,
      Missing missing,
      Function<LogicalPlan, Dataset<Row>> asDataset) {
    CommonCut cut = CommonCut.of(agreement.first(), agreement.second(), missing, asDataset);
    BlockFrame a = cut.first();
    LogicalPlan right = Attributes.distinctFrom(a.plan(), cut.second().plan());
    BlockFrame b = BlockFrame.of(right, a.kind(), cut.second().operator());
    Agreement cutAlike = new Agreement(a, b, agreement.operator());
    boolean isComplex = a.blocks().isComplex() || b.blocks().isComplex();
    BlockSchema out = canonical(a.blocks(), isComplex);
    LogicalPlan node =
        new CombineBlocks(
            new CombineSpec(
                combination,
                canonical(a.blocks(), a.blocks().isComplex()),
                canonical(b.blocks(), b.blocks().isComplex()),
                out,
                ScalaInterop.option(a.extents()),
                agreement.operator()),
            ScalaInterop.seq(inputs(a, a.further())),
            ScalaInterop.seq(inputs(b, cutAlike.partners())),
            ScalaInterop.seq(produced(a, cutAlike.combined(), isComplex)),
            a.plan(),
            right);
    return inOrderOf(agreement.first(), node);
  }

  private static List<Attribute> produced(BlockFrame like, ArrayMetadata known, boolean isComplex) {
    ArrayMetadata metadata = known.ofComputed(like.blocks().elementType(), isComplex);
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

  /**
   * The columns in the order in which the first array has them, imag behind values if it is new.
   */
  private static LogicalPlan inOrderOf(BlockFrame first, LogicalPlan node) {
    List<Attribute> columns = ScalaInterop.list(node.output());
    List<NamedExpression> ordered = new ArrayList<>();
    for (Attribute column : first.columns()) {
      ordered.add(GroupingColumns.named(columns, column).orElseThrow());
      if (column == first.values() && columns.size() > first.columns().size()) {
        ordered.add(columns.get(first.block().size()));
      }
    }
    return ordered.equals(columns) ? node : new Project(ScalaInterop.seq(ordered), node);
  }

  private static BlockSchema canonical(BlockSchema like, boolean isComplex) {
    return BlockSchema.canonical(like.kind(), isComplex, like.elementType());
  }

  private static List<Attribute> inputs(BlockFrame side, List<Attribute> furtherInOrder) {
    List<Attribute> inputs = new ArrayList<>(side.block());
    inputs.addAll(furtherInOrder);
    return inputs;
  }

  /** The physical node over the plans of both arrays. */
  public SparkPlan exec(SparkPlan plannedLeft, SparkPlan plannedRight) {
    return new CombineBlocksExec(
        spec, leftInputs, rightInputs, produced, plannedLeft, plannedRight);
  }

  /** The first array. */
  public LogicalPlan left() {
    return left;
  }

  /** The second array. */
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
    return new CombineBlocks(
        spec, leftInputs, rightInputs, Attributes.fresh(produced), left, right);
  }

  @Override
  public String simpleString(int maxFields) {
    return "CombineBlocks " + spec;
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, leftInputs, rightInputs, produced, left, right);
  }
}
