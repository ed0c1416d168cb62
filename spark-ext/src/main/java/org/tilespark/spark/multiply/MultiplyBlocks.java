package org.tilespark.spark.multiply;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.kernels.pointwise.ElementwiseProgram;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.BlockPartitioning;
import org.tilespark.spark.exchange.PartitionsBlocks;
import org.tilespark.spark.options.Missing;
import scala.collection.immutable.Seq;

/**
 * The product of two block matrices, or of one with its own transpose; matrix by matrix if there
 * are grouping columns. {@link MultiplyPlans} makes it.
 *
 * <p>Each operand is read through a list of its columns in a fixed order, see {@link Column}; the
 * lists of both follow each other in {@code inputs}. The output has the same columns under fresh
 * ids.
 */
public final class MultiplyBlocks extends LogicalBlockNode
    implements PartitionsBlocks, MultiInstanceRelation {
  /** The order of the columns of an operand and of the output; grouping columns follow. */
  public enum Column {
    ROW,
    COL,
    ROWS,
    COLS,
    VALUES;

    /** Count of these columns: the position of the first grouping column. */
    public static final int COUNT = values().length;
  }

  /**
   * The order of the columns with the places of the larger operand's blocks, if those are read;
   * grouping columns follow.
   */
  public enum PlaceColumn {
    /** First element of a block along M or N. */
    OUTER,
    /** Elements of a block along M or N. */
    OUTER_EXTENT,
    /** First element along K. */
    INNER,
    /** Elements of a block along K. */
    INNER_EXTENT;

    /** Count of these columns: the position of the first grouping column. */
    public static final int COUNT = values().length;
  }

  private final MultiplySpec spec;
  private final Seq<Attribute> inputs;
  private final Seq<Attribute> produced;
  private final Seq<LogicalPlan> operands;
  private final Seq<Attribute> placeColumns;
  private final Seq<LogicalPlan> places;

  /**
   * A constructor for Catalyst, which copies nodes through this constructor, and for rules.
   *
   * @param inputs columns of the left operand, then of the right one if there is one
   * @param produced columns of the output, in {@link Column}'s order
   * @param operands left and right; one only if {@code spec} is a gram
   * @param placeColumns columns of {@code places}, in {@link PlaceColumn}'s order
   * @param places one plan or none, which gives the places of the larger operand's blocks
   */
  public MultiplyBlocks(
      MultiplySpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      Seq<LogicalPlan> operands,
      Seq<Attribute> placeColumns,
      Seq<LogicalPlan> places) {
    this.spec = spec;
    this.inputs = inputs;
    this.produced = produced;
    this.operands = operands;
    this.placeColumns = placeColumns;
    this.places = places;
  }

  /** A product that does not read the places of blocks in addition to its operands. */
  public MultiplyBlocks(
      MultiplySpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      Seq<LogicalPlan> operands) {
    this(spec, inputs, produced, operands, ScalaInterop.emptySeq(), ScalaInterop.emptySeq());
  }

  /** The specification of the product. */
  public MultiplySpec spec() {
    return spec;
  }

  /** Left and right, or the one operand of a gram. */
  public List<LogicalPlan> operands() {
    return ScalaInterop.list(operands);
  }

  /** The columns of an operand that are read, in {@link Column}'s order. */
  public List<Attribute> inputs(int operand) {
    int ofLeft = Column.COUNT + spec.groups(false);
    int from = operand == 0 ? 0 : ofLeft;
    int to = operand == 0 ? ofLeft : ofLeft + Column.COUNT + spec.groups(true);
    return List.copyOf(ScalaInterop.<Attribute>list(inputs).subList(from, to));
  }

  /** The output, in {@link Column}'s order. */
  public List<Attribute> produced() {
    return ScalaInterop.list(produced);
  }

  /** The grouping columns of the output. */
  public List<Attribute> groups() {
    List<Attribute> all = produced();
    return all.subList(all.size() - spec.groups(), all.size());
  }

  /** True if the places of the larger operand's blocks are read in addition to the operands. */
  public boolean watches() {
    return places.nonEmpty();
  }

  @Override
  public boolean givesAllCells() {
    return spec.result().missing() == Missing.ERROR;
  }

  /** True if a broadcast of the smaller operand can find missing blocks of the larger one. */
  public boolean isCovered() {
    boolean right = spec.largerIsRight();
    return watches()
        || spec.reduction().isDefined()
            && !spec.gram()
            && LogicalBlockNode.covers(operands().get(right ? 1 : 0), spec.extents(right));
  }

  /**
   * The plan that gives the places of the larger operand's blocks; call only if {@link #watches} is
   * true.
   */
  public LogicalPlan places() {
    return places.head();
  }

  /** The columns of {@link #places}, in {@link PlaceColumn}'s order. */
  public List<Attribute> placeColumns() {
    return ScalaInterop.list(placeColumns);
  }

  /**
   * This product, which also reads the places of the larger operand's blocks: all columns of {@code
   * plan}.
   */
  public MultiplyBlocks watching(LogicalPlan plan) {
    return new MultiplyBlocks(
        spec, inputs, produced, operands, plan.output(), ScalaInterop.<LogicalPlan>seq(plan));
  }

  /** A product of other operands with the output columns of this one; it does not read places. */
  public MultiplyBlocks with(
      MultiplySpec newSpec, List<List<Attribute>> newInputs, List<LogicalPlan> newOperands) {
    List<Attribute> all = new ArrayList<>();
    newInputs.forEach(all::addAll);
    return new MultiplyBlocks(
        newSpec, ScalaInterop.seq(all), produced, ScalaInterop.seq(newOperands));
  }

  /** This product with further programs on each element of C. */
  public MultiplyBlocks then(List<ElementwiseProgram> programs, String text) {
    return new MultiplyBlocks(
        spec.then(programs, text), inputs, produced, operands, placeColumns, places);
  }

  /** This product with other attributes as its output columns. */
  public MultiplyBlocks producing(List<Attribute> columns) {
    return new MultiplyBlocks(
        spec, inputs, ScalaInterop.seq(columns), operands, placeColumns, places);
  }

  /** False: a product's operations grow faster than its bytes. */
  @Override
  public boolean costsLittle() {
    return false;
  }

  @Override
  public boolean holdsExchanges() {
    return true;
  }

  @Override
  public Seq<Attribute> output() {
    return produced;
  }

  @Override
  public Optional<BlockPartitioning> partitioning(SparkContext context) {
    return spec.reduction().isDefined()
        ? Optional.empty()
        : new MultiplyChoice(context, this).partitioning();
  }

  @Override
  public Statistics stats() {
    if (spec.reduction().isDefined()) {
      return BlockStatistics.ofRows(
          spec.reduction().get().rows(spec.m(), spec.n()), produced().size());
    }
    List<Attribute> output = produced();
    BlockSchema blocks = BlockStatistics.blocks(output, BlockKind.MATRIX);
    boolean right = spec.a().common(); // true to count B's matrices: A is common to all
    Shape extents = right ? Shape.of(spec.k(), spec.n()) : Shape.of(spec.m(), spec.k());
    return BlockStatistics.of(
        output,
        blocks,
        new BlockStatistics.Input(operands().get(right ? 1 : 0), blocks, Optional.of(extents)),
        true);
  }

  /** A copy with fresh ids, so that both sides of a self-join can be distinguished. */
  @Override
  public LogicalPlan newInstance() {
    return producing(ScalaInterop.list(Attributes.fresh(produced)));
  }

  @Override
  public String simpleString(int maxFields) {
    return "MultiplyBlocks " + spec.describe() + ", strategy=" + spec.strategy();
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, inputs, produced, operands, placeColumns, places);
  }
}
