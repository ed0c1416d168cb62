package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.DevicePermutePipeline;
import org.tilespark.arrow.blocks.HostPermutePipeline;
import org.tilespark.arrow.blocks.PermutePipeline;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.TaskMetrics;
import org.tilespark.spark.runtime.TaskRun;
import scala.runtime.AbstractFunction1;

/**
 * The body of a task: opens a pipeline and an allocator for one partition and ties both to the end
 * of the task, whether it succeeds, fails or is killed.
 *
 * @param <T> what the child gives: rows or batches
 */
final class StageTask<T>
    extends AbstractFunction1<
        scala.collection.Iterator<T>, scala.collection.Iterator<ColumnarBatch>>
    implements Serializable {
  private static final long serialVersionUID = 1;

  private final StageSpec spec;
  private final BackendChoice backend;
  private final TaskMetrics metrics;
  private final BlockCursor.Source<T> source;

  private StageTask(
      StageSpec spec, BackendChoice backend, TaskMetrics metrics, BlockCursor.Source<T> source) {
    this.spec = spec;
    this.backend = backend;
    this.metrics = metrics;
    this.source = source;
  }

  static StageTask<InternalRow> overRows(
      StageSpec spec, BackendChoice backend, TaskMetrics metrics) {
    return new StageTask<>(spec, backend, metrics, BlockCursor::overRows);
  }

  static StageTask<ColumnarBatch> overBatches(
      StageSpec spec, BackendChoice backend, TaskMetrics metrics) {
    return new StageTask<>(spec, backend, metrics, BlockCursor::overBatches);
  }

  @Override
  public scala.collection.Iterator<ColumnarBatch> apply(scala.collection.Iterator<T> partition) {
    return PartitionBoundary.over(partition, this::open);
  }

  private Iterator<ColumnarBatch> open(Iterator<T> partition) {
    TaskContext task = TaskContext.get();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    TaskRun run = TaskRun.start(task, runtime, runtime.gpu(backend.requested(), task), "");
    PipelineListener listener = run.listener(metrics.onDevice(), metrics.onHost());
    PermutePipeline pipeline =
        run.scope().own(run.gpu().isEmpty() ? onHost(run, listener) : onDevice(run, listener));
    StageIterator iterator =
        new StageIterator(spec, source.open(partition), pipeline, run.allocator());
    run.scope().ownUsedBy(pipeline, iterator); // holds buffers that the pipeline may be filling
    return run.counted(iterator, metrics);
  }

  private static PermutePipeline onHost(TaskRun run, PipelineListener listener) {
    return new HostPermutePipeline(run.runtime().hostTransposer(), run.allocator(), listener);
  }

  private PermutePipeline onDevice(TaskRun run, PipelineListener listener) {
    return new DevicePermutePipeline(
        run.place(listener), run.gpu().get().transposer(), spec.batchBytes());
  }
}
