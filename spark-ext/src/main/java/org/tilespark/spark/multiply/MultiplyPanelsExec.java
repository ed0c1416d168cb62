package org.tilespark.spark.multiply;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.exchange.BoundPartitioning;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.exchange.PiecesInPlaceExec;
import org.tilespark.spark.runtime.BackendChoice;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;

/**
 * Multiplies the pieces of both operands that a shuffle brought together: each task streams panels
 * along K, adds their products to a tile of C, and gives the tile's blocks. If K is cut, they are
 * partial sums, which {@link SumBlocksExec} adds.
 */
public final class MultiplyPanelsExec extends MultiplyExec {
  private final Cuboids cuboids;
  private final Option<BoundPartitioning> partitioning;
  private final Seq<SparkPlan> pieces;

  /**
   * The products of shuffled and sorted pieces.
   *
   * @param matrices most matrices that a task multiplies at once
   * @param prediction the planner's prediction, for EXPLAIN and metrics
   * @param backend backend that computes
   * @param partitioning partitioning of the output, if known, by positions in {@code produced}
   * @param produced the output: blocks of C, or partial ones if K is cut
   * @param pieces pieces of both sides, shuffled to parts or cuboids and sorted; or pieces of each
   *     side, read in place from cached blocks; or, if cuboids are in place, pieces of each side,
   *     for which this node requires distribution and order
   */
  public MultiplyPanelsExec(
      MultiplySpec spec,
      Cuboids cuboids,
      long matrices,
      Prediction prediction,
      BackendChoice backend,
      Option<BoundPartitioning> partitioning,
      Seq<Attribute> produced,
      Seq<SparkPlan> pieces) {
    super(spec, matrices, prediction, backend, produced);
    this.cuboids = cuboids;
    this.partitioning = partitioning;
    this.pieces = pieces;
  }

  @Override
  long depth() {
    return cuboids.depth();
  }

  /**
   * The partitioning by cuboids; also valid if Spark shuffles the pieces, which are then in the
   * partitions of their cuboids too.
   */
  @Override
  public Partitioning outputPartitioning() {
    boolean isPartitioned =
        partitioning.isDefined()
            && ScalaInterop.<SparkPlan>list(pieces).stream()
                .allMatch(
                    each ->
                        each.outputPartitioning().numPartitions()
                                == partitioning.get().numPartitions()
                            && Exchange.isBy(
                                each.outputPartitioning(), PieceColumns.pieceKey(columns(each))));
    return isPartitioned
        ? partitioning.get().over(ScalaInterop.list(produced))
        : super.outputPartitioning();
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    return ScalaInterop.seq(
        ScalaInterop.<SparkPlan>list(pieces).stream()
            .map(
                each ->
                    cuboids.isInPlace()
                        ? Exchange.together(
                            PieceColumns.pieceKey(columns(each)), cuboids.partitions())
                        : Exchange.anywhere())
            .toList());
  }

  private static RDD<InternalRow> sorted(SparkPlan pieces) {
    return Exchange.sorted(pieces, Attributes.ascending(PieceColumns.pieceOrder(columns(pieces))));
  }

  private static List<Attribute> columns(SparkPlan plan) {
    return ScalaInterop.list(plan.output());
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return atExchange(products());
  }

  @Override
  protected boolean isAtExchange() {
    return true;
  }

  private RDD<InternalRow> products() {
    MultiplyTask<InternalRow> task = MultiplyTask.ofPieces(job(), cuboids, backend, taskMetrics());
    ClassTag<InternalRow> rows = ScalaInterop.classTag(InternalRow.class);
    PieceColumns.Labels labels = PieceColumns.Labels.of(spec, cuboids);
    RDD<InternalRow> first = sorted(pieces.head());
    if (cuboids.isShared()) {
      return cuboids
          .parts(first, false)
          .mapPartitionsWithIndex(new NumberedRows.Numbering(), false, rows)
          .zipPartitions(
              cuboids.parts(pieces.size() == 1 ? first : sorted(pieces.apply(1)), true),
              false,
              new NumberedRows.Zipped(task, cuboids, labels),
              rows,
              rows);
    }
    return pieces.size() == 1
        ? first.mapPartitionsWithIndex(task, false, rows)
        : first
            .mapPartitionsWithIndex(new NumberedRows.Numbering(), false, rows)
            .zipPartitions(
                sorted(pieces.apply(1)),
                false,
                new NumberedRows.Zipped(task, cuboids, labels),
                rows,
                rows);
  }

  @Override
  String explainedExchange() {
    boolean areRead =
        ScalaInterop.<SparkPlan>list(pieces).stream().allMatch(PiecesInPlaceExec.class::isInstance);
    return areRead
        ? "\nNo exchange: " + PiecesInPlaceExec.REASON
        : Exchange.explained(sparkContext());
  }

  @Override
  protected List<Object> fields() {
    return List.of(spec, cuboids, matrices, prediction, backend, partitioning, produced, pieces);
  }
}
