package org.tilespark.spark.vectors;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BlockStatistics;
import org.tilespark.spark.block.BlocksOfRows;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.MadeAnewNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * Gathers rows with one vector each into blocks of a matrix, which are whole along its columns.
 * Rows are numbered in their order: those of earlier partitions come first.
 */
public final class GatherVectors extends MadeAnewNode<GatherSpec> implements BlocksOfRows {
  private static final long serialVersionUID = 1;

  private final Seq<LogicalPlan> counted;

  /**
   * The node over {@code child}.
   *
   * @param inputs columns of the child, in the order that the spec has
   * @param produced columns of the blocks in their usual order, and of ids
   * @param counted a plan with the child's rows in the same partitions and without columns, which
   *     is cheap to count; or none
   */
  public GatherVectors(
      GatherSpec spec,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      LogicalPlan child,
      Seq<LogicalPlan> counted) {
    super(spec, inputs, produced, child);
    this.counted = counted;
  }

  /**
   * The count of the matrix's columns, if blocks of a plan come directly from gathered rows, of
   * which some may be filtered out; otherwise empty.
   *
   * @param block columns of the plan that are the block
   */
  public static Optional<Integer> columnsOf(LogicalPlan plan, List<Attribute> block) {
    if (plan instanceof GatherVectors gathered) {
      List<Attribute> own = ScalaInterop.list(gathered.produced());
      return block.stream().allMatch(column -> Attributes.indexOf(own, column) >= 0)
          ? Optional.of(gathered.spec().length())
          : Optional.empty();
    }
    return plan.children().size() == 1
        ? columnsOf(plan.children().head(), block)
        : Optional.empty();
  }

  /**
   * A plan without places, if its blocks come directly from gathered rows: it gives all blocks, in
   * any order, and each partition's blocks begin at place 0. The rows are then neither counted nor
   * sorted.
   *
   * @param block columns of the plan that are the block
   */
  public static Optional<LogicalPlan> withoutPlaces(LogicalPlan plan, List<Attribute> block) {
    if (plan instanceof Project project) {
      return Attributes.below(project, block)
          .flatMap(read -> withoutPlaces(project.child(), read))
          .map(child -> (LogicalPlan) project.withNewChildren(ScalaInterop.seq(child)));
    }
    return plan instanceof GatherVectors gathered
            && ScalaInterop.<Attribute>list(gathered.produced()).containsAll(block)
        ? Optional.of(gathered.withoutPlaces())
        : Optional.empty();
  }

  private GatherVectors withoutPlaces() {
    boolean isSorted = spec().orderColumns() > 0 && child() instanceof Sort;
    return new GatherVectors(
        spec().withoutPlaces(),
        ScalaInterop.seq(
            ScalaInterop.<Attribute>list(inputs()).subList(0, spec().firstOrderColumn())),
        produced(),
        isSorted ? ((Sort) child()).child() : child(),
        ScalaInterop.emptySeq());
  }

  /**
   * Checks, after the plan was optimized, that the child gives the same rows in each run: a table
   * that was cached at planning may have been dropped meanwhile.
   *
   * @throws IllegalArgumentException that says why it does not
   */
  public void requireRepeatable() {
    if (!spec().isPlaced()) {
      return;
    }
    List<Attribute> read = ScalaInterop.list(inputs());
    RepeatableRows.require(
        child(),
        read.subList(spec().firstOrderColumn(), read.size()),
        spec().hasIds() ? Optional.of(read.get(spec().idColumn())) : Optional.empty(),
        spec().operator());
  }

  /** The plan that is counted instead of the child; empty for the child itself. */
  public Seq<LogicalPlan> counted() {
    return counted;
  }

  @Override
  public Shape blockShape() {
    return Shape.of(spec().blockRows(), spec().length());
  }

  @Override
  public Optional<LogicalPlan> rows() {
    return spec().skips()
        ? Optional.empty()
        : Optional.of(new Project(ScalaInterop.emptySeq(), child()));
  }

  @Override
  public LogicalPlan newInstance() {
    return new GatherVectors(spec(), inputs(), Attributes.fresh(produced()), child(), counted);
  }

  @Override
  public Statistics stats() {
    List<Attribute> columns = ScalaInterop.list(produced());
    BlockSchema blocks = BlockStatistics.blocks(columns, BlockKind.MATRIX);
    return BlockStatistics.of(
        columns, blocks, new BlockStatistics.Input(child(), blocks, Optional.empty()), true);
  }

  /**
   * The extents of the matrix, which its blocks cover: their places are sums of counts of rows,
   * which tasks check.
   */
  @Override
  public Optional<Shape> coveredArray() {
    return spec().isPlaced() && spec().rows() > 0
        ? Optional.of(Shape.of(spec().rows(), spec().length()))
        : Optional.empty();
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec(), inputs(), produced(), child(), counted);
  }
}
