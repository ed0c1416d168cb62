package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.TaskContext;
import org.tilespark.arrow.blocks.DevicePermutePipeline;
import org.tilespark.arrow.blocks.HostPermutePipeline;
import org.tilespark.arrow.blocks.PermutePipeline;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.TaskMetrics;
import org.tilespark.spark.runtime.TaskRun;

/**
 * The body of a task: opens a pipeline and an allocator for one partition and ties both to the end
 * of the task, whether it succeeds, fails or is killed.
 *
 * @param <T> what the child gives: rows or batches
 * @param <R> what it gives: rows or batches
 */
record StageTask<T, R>(
    StageSpec spec,
    BackendChoice backend,
    TaskMetrics metrics,
    BlockCursor.Source<T> source,
    Form<R> form)
    implements PartitionTask<T, R> {
  /** How results leave. */
  interface Form<R> extends Serializable {
    StageResults<R, ?> open(
        StageSpec spec, BlockCursor cursor, PermutePipeline pipeline, BufferAllocator allocator);
  }

  @Override
  public Iterator<R> open(Iterator<T> partition) {
    TaskContext task = TaskContext.get();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    TaskRun run = TaskRun.start(task, runtime, runtime.gpu(backend.requested(), task), "");
    PipelineListener listener = run.listener(metrics.onDevice(), metrics.onHost());
    PermutePipeline pipeline =
        run.scope()
            .own(
                run.gpu().isEmpty()
                    ? new HostPermutePipeline(runtime.hostTransposer(), run.allocator(), listener)
                    : new DevicePermutePipeline(
                        run.place(listener), run.gpu().get().transposer(), spec.batchBytes()));
    StageResults<R, ?> results =
        form.open(spec, source.open(run.awaited(partition)), pipeline, run.allocator());
    run.scope().ownUsedBy(pipeline, results); // holds memory that the pipeline may be filling
    return run.counted(results, metrics);
  }
}
