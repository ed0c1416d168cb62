package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.ArrayProgram;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.spark.catalyst.PartitionsTask;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.CarriedColumns;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.TaskMetrics;
import org.tilespark.spark.runtime.TaskRun;

/**
 * The body of a task that runs a stage: opens a pipeline and an allocator for one partition of each
 * child and ties both to the end of the task, whether it succeeds, fails or is killed.
 *
 * @param <R> type of the results: rows or batches
 */
record StageTask<R>(Job job, BackendChoice backend, TaskMetrics metrics, Form<R> form)
    implements PartitionsTask<R> {
  /** Most batches of results that may wait in pinned memory. */
  private static final int BATCHES_AHEAD = 2;

  /**
   * The facts that a task needs.
   *
   * @param spec specification of the stage
   * @param children sources of the inputs
   */
  record Job(StageSpec spec, List<Child> children, StageResults.Output output)
      implements Serializable {
    /** The arrays of an input; the caller closes them. */
    ArraySource source(int input, Iterator<Object> partition, TaskRun run) {
      Child child = children.get(input);
      StageInput columns = child.columns();
      int number = spec.number(input);
      List<ArrayProgram> programs =
          spec.program().inputs().subList(number, number + columns.arrays());
      if (columns.assembled().isDefined()) {
        PieceGroups groups =
            new PieceGroups(
                columns.assembled().get(),
                child.rows(),
                child.keys(),
                columns.blocks(),
                Child.of(partition));
        return new ArraySource.Pieces(
            columns.blocks(), groups, run.retained(), run.stayingMemory(), run.allocator());
      }
      BlockCursor blocks = child.blocks(partition);
      return spec.gathered().isEmpty()
          ? new ArraySource.Blocks(programs, columns, blocks, run.allocator())
          : new ArraySource.Volumes(
              programs.get(0), columns, child.rows(), blocks, run.allocator());
    }
  }

  /**
   * The form of one input.
   *
   * @param columns columns of the input, by the child's ordinals
   * @param rows schema of the child's rows
   * @param keys ordinals of the columns that are equal in corresponding rows
   * @param isInBatches true if the child gives batches
   */
  record Child(StageInput columns, StructType rows, List<Integer> keys, boolean isInBatches)
      implements Serializable {
    private BlockCursor blocks(Iterator<Object> partition) {
      return isInBatches
          ? BlockCursor.overBatches(Child.<ColumnarBatch>of(partition))
          : BlockCursor.overRows(Child.<InternalRow>of(partition));
    }

    @SuppressWarnings("unchecked") // the node knows what its child gives
    private static <T> Iterator<T> of(Iterator<Object> partition) {
      return (Iterator<T>) (Iterator<?>) partition;
    }
  }

  private StageArrays arrays(List<Iterator<Object>> partitions, TaskRun run) {
    List<ArraySource> sources = new ArrayList<>();
    for (int input = 0; input < partitions.size(); input++) {
      sources.add(job.source(input, run.awaited(partitions.get(input)), run));
    }
    return new StageArrays(
        job.spec(),
        sources,
        job.children().stream().map(Child::rows).toList(),
        job.children().stream().map(Child::keys).toList());
  }

  /** The form in which results leave: rows or batches. */
  interface Form<R> extends Serializable {
    StageResults<R> open(StageResults.Job job, BufferAllocator allocator);
  }

  @Override
  public Iterator<R> open(List<Iterator<Object>> partitions) {
    TaskContext task = TaskContext.get();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    ExecutorRuntime.BlockPlace place =
        runtime.place(backend.requested(), job.spec().program().needsTransforms(), task);
    TaskRun run =
        TaskRun.start(
            task, runtime, place.gpu(), job.spec().program().needsTransforms() ? "transform" : "");
    BufferAllocator allocator = run.allocator();
    BlockPipeline pipeline =
        run.scope()
            .own(
                place.open(
                    run,
                    job.output().batchBytes(),
                    BATCHES_AHEAD,
                    run.listener(metrics.onDevice(), metrics.onHost())));
    Child first = job.children().get(0);
    List<Integer> further = first.columns().further();
    int carried = job.spec().furtherOut(job.output().columns()).size();
    StageResults<R> results =
        form.open(
            new StageResults.Job(
                job.spec(),
                job.output(),
                arrays(partitions, run),
                new CarriedColumns(first.rows(), further.subList(0, carried)),
                first.columns().trend(),
                pipeline),
            allocator);
    // Closed after the pipeline, which may still write to memory of the results
    run.scope().ownUsedBy(pipeline, results);
    return run.counted(results, metrics);
  }
}
