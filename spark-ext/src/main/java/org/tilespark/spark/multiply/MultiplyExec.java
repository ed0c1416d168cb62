package org.tilespark.spark.multiply;

import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.multiply.MultiplyBlocks.Column;
import org.tilespark.spark.runtime.BackendChoice;
import scala.collection.immutable.Seq;

/** A node that multiplies, with its prediction, its metrics and its text in EXPLAIN. */
abstract class MultiplyExec extends PhysicalBlockNode {
  protected final MultiplySpec spec;
  protected final long matrices;
  protected final Prediction prediction;
  protected final BackendChoice backend;
  protected final Seq<Attribute> produced;

  /**
   * A product.
   *
   * @param matrices most matrices that a task multiplies at once
   * @param prediction the planner's prediction, for EXPLAIN and metrics
   * @param backend backend that computes
   * @param produced columns of the output: blocks of C, or partial ones, see {@link PieceColumns}
   */
  MultiplyExec(
      MultiplySpec spec,
      long matrices,
      Prediction prediction,
      BackendChoice backend,
      Seq<Attribute> produced) {
    this.spec = spec;
    this.matrices = matrices;
    this.prediction = prediction;
    this.backend = backend;
    this.produced = produced;
  }

  /** The planner's prediction. */
  public final Prediction prediction() {
    return prediction;
  }

  /** Largest extent of a panel along K. */
  abstract long depth();

  /** The job of the tasks. */
  final PanelTask.Job job() {
    boolean partial = produced.size() - spec.groups() > Column.COUNT;
    return PanelTask.Job.of(spec, partial, produced).withMatrices(matrices);
  }

  /** The metrics for the tasks; also sets the metrics of the prediction. */
  final MultiplyMetrics taskMetrics() {
    MultiplyMetrics.tell(metrics(), prediction, sparkContext());
    return new MultiplyMetrics(metrics());
  }

  @Override
  protected final Map<String, SQLMetric> newMetrics() {
    return MultiplyMetrics.create(sparkContext());
  }

  @Override
  public final Seq<Attribute> output() {
    return produced;
  }

  @Override
  public final String simpleString(int maxFields) {
    return nodeName() + " " + spec.describe() + " " + prediction + " [" + backend + "]";
  }

  @Override
  public final String verboseStringWithOperatorId() {
    return formattedNodeName()
        + prediction.explained(spec, depth(), backend)
        + (matrices == 1 ? "" : "\nBatches: up to " + matrices + " matrices at once")
        + explainedExchange()
        + "\n";
  }

  /** A line about the exchange of the operands; empty if they are not exchanged. */
  String explainedExchange() {
    return "";
  }
}
