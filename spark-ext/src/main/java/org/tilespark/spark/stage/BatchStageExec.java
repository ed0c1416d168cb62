package org.tilespark.spark.stage;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.tilespark.spark.catalyst.MadeAnewExec;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.rows.GivesBlockBatches;
import org.tilespark.spark.rows.ReadsBlocks;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.TaskMetrics;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * A physical node that computes with blocks on a backend: takes rows or batches, gives rows or
 * batches whose value columns are Arrow lists.
 *
 * @param <S> what the node does
 */
public abstract class BatchStageExec<S> extends MadeAnewExec<S>
    implements ReadsBlocks, GivesBlockBatches {
  private static final long serialVersionUID = 1;

  protected final BackendChoice backend;
  protected final long batchBytes;

  /**
   * A stage over {@code child}.
   *
   * @param backend who is expected to compute, and why
   * @param batchBytes bytes of values that make a batch
   */
  protected BatchStageExec(
      S spec,
      Seq<Attribute> inputs,
      Seq<Attribute> produced,
      BackendChoice backend,
      long batchBytes,
      SparkPlan child) {
    super(spec, inputs, produced, child);
    this.backend = backend;
    this.batchBytes = batchBytes;
  }

  /** Who is expected to compute, and why. */
  public final BackendChoice backend() {
    return backend;
  }

  /** Positions of the value columns in the output. */
  protected abstract List<Integer> planes();

  /** The only child. */
  @Override
  public final SparkPlan blocks() {
    return child;
  }

  @Override
  public final boolean supportsColumnar() {
    return true;
  }

  /** Rows are made where they go: nobody turns batches into rows. */
  @Override
  public final boolean supportsRowBased() {
    return true;
  }

  @Override
  public final Option<Seq<String>> vectorTypes() {
    List<Integer> planes = planes();
    return Option.apply(
        ScalaInterop.seq(
            IntStream.range(0, output().size())
                .mapToObj(i -> planes.contains(i) ? ArrowColumnVector.class : ColumnVector.class)
                .map(Class::getName)
                .toList()));
  }

  @Override
  protected Map<String, SQLMetric> newMetrics() {
    return TaskMetrics.stageMetrics(sparkContext());
  }
}
