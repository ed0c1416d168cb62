package org.tilespark.spark.multiply;

import java.util.List;
import java.util.Set;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.spark.catalyst.ChildColumns;
import org.tilespark.spark.catalyst.ExchangeInput;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.exchange.Exchange;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.ReadsBlocks;
import org.tilespark.spark.runtime.BackendChoice;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;

/**
 * Multiplies blocks that stay in place with the other operand, which is broadcast. If each block
 * spans all of K, the products are blocks of C, or are reduced, and nothing is shuffled; otherwise
 * they are partial sums, which {@link SumBlocksExec} adds.
 */
public final class MultiplyBroadcastExec extends MultiplyExec implements ReadsBlocks {
  private final long depth;
  private final long mostOuter;
  private final boolean smallIsRight;
  private final Seq<Attribute> inputs;

  private final SparkPlan large;
  private final SparkPlan small;
  private final Seq<SparkPlan> places;

  /**
   * The products of blocks.
   *
   * @param depth largest extent of a panel along K
   * @param mostOuter largest extent along M or N of the part of a block that is multiplied at a
   *     time
   * @param matrices most matrices that are multiplied at once
   * @param prediction the planner's prediction, for EXPLAIN and metrics
   * @param backend backend that computes
   * @param smallIsRight true if B is broadcast
   * @param inputs columns of {@code large}, in {@link Column}'s order, then grouping columns
   * @param produced columns of the output: blocks of C, or partial ones, see {@link PieceColumns}
   * @param large plan of the operand whose blocks stay; gives rows or batches
   * @param small plan of the broadcast operand's pieces
   * @param places a {@link CheckPlacesExec} over the large operand's places, if its products are
   *     whole blocks of C; else none
   */
  public MultiplyBroadcastExec(
      MultiplySpec spec,
      long depth,
      long mostOuter,
      long matrices,
      Prediction prediction,
      BackendChoice backend,
      boolean smallIsRight,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      SparkPlan large,
      SparkPlan small,
      Seq<SparkPlan> places) {
    super(spec, matrices, prediction, backend, produced);
    this.depth = depth;
    this.mostOuter = mostOuter;
    this.smallIsRight = smallIsRight;
    this.inputs = inputs;

    this.large = large;
    this.small = small;
    this.places = places;
  }

  /** The plan of the operand whose blocks stay. */
  @Override
  public List<SparkPlan> blocks() {
    return List.of(large);
  }

  /** This node over another plan of the operand whose blocks stay, which gives rows or batches. */
  @Override
  public MultiplyBroadcastExec withBlocks(List<SparkPlan> blocks) {
    return new MultiplyBroadcastExec(
        spec,
        depth,
        mostOuter,
        matrices,
        prediction,
        backend,
        smallIsRight,
        inputs,
        produced,
        blocks.get(0),
        small,
        places);
  }

  @Override
  long depth() {
    return depth;
  }

  @Override
  public Seq<Distribution> requiredChildDistribution() {
    return places.isEmpty()
        ? ScalaInterop.<Distribution>seq(Exchange.anywhere(), Exchange.everywhere())
        : ScalaInterop.<Distribution>seq(
            Exchange.anywhere(), Exchange.everywhere(), Exchange.everywhere());
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return ExchangeInput.marked(products(), InternalRow.class);
  }

  private RDD<InternalRow> products() {
    MultiplyMetrics taskMetrics = taskMetrics();
    PanelTask.Job job = job();
    Broadcast<InternalRow[]> broadcast = ErrorBoundary.await(small::executeBroadcast);
    Option<Broadcast<InternalRow[]>> ranges =
        places.headOption().map(check -> ErrorBoundary.await(check::executeBroadcast));
    if (ranges.isDefined()
        && spec.result().missing() == Missing.ERROR
        && !spec.side(smallIsRight).common()) {
      ErrorBoundary.BLOCKS.run(
          () -> requireAllMatrices(job, broadcast.value(), ranges.get().value()));
    }
    ClassTag<InternalRow> rows = ScalaInterop.classTag(InternalRow.class);
    if (large.supportsColumnar()) {
      return Exchange.withPartitions(large.executeColumnar(), ColumnarBatch.class)
          .mapPartitionsWithIndex(
              MultiplyTask.ofBlocks(
                  BlockCursor::overBatches, job, side(), broadcast, ranges, backend, taskMetrics),
              false,
              rows);
    }
    return Exchange.withPartitions(large.execute(), InternalRow.class)
        .mapPartitionsWithIndex(
            MultiplyTask.ofBlocks(
                BlockCursor::overRows, job, side(), broadcast, ranges, backend, taskMetrics),
            false,
            rows);
  }

  /** Fails if all blocks of one of the large side's matrices are missing. */
  private void requireAllMatrices(PanelTask.Job job, InternalRow[] pieces, InternalRow[] ranges) {
    Set<UnsafeRow> there = job.matrices(ranges, CheckPlacesExec.COUNT).keySet();
    for (UnsafeRow matrix : job.matrices(pieces).keySet()) {
      if (!there.contains(matrix)) {
        throw OperandDefects.holeAt(spec, !smallIsRight, job.groupText(matrix), 0, 0);
      }
    }
  }

  /** The large side, with the ordinals of its columns. */
  private LargeBlocks.Side side() {
    List<Integer> ordinals = ChildColumns.ordinals(this, large, inputs);
    return new LargeBlocks.Side(
        !smallIsRight,
        PieceColumns.blocks(ordinals, spec.type()),
        List.copyOf(ordinals.subList(Column.COUNT, ordinals.size())),
        depth,
        mostOuter);
  }

  @Override
  protected List<Object> fields() {
    return List.of(
        spec,
        depth,
        mostOuter,
        matrices,
        prediction,
        backend,
        smallIsRight,
        inputs,
        produced,
        large,
        small,
        places);
  }
}
