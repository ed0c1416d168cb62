package org.tilespark.spark.stage;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.tilespark.arrow.blocks.BlockPipeline;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.PartitionTask;
import org.tilespark.spark.exchange.AssembleSpec;
import org.tilespark.spark.exchange.PieceGroups;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.CarriedColumns;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.TaskMetrics;
import org.tilespark.spark.runtime.TaskRun;

/**
 * The body of a task that runs a stage: opens a pipeline and an allocator for one partition and
 * ties both to the end of the task, whether it succeeds, fails or is killed.
 *
 * @param <T> what the child gives: rows or batches
 * @param <R> what it gives: rows or batches
 */
record StageTask<T, R>(
    Job job, BackendChoice backend, TaskMetrics metrics, Source<T> source, Form<R> form)
    implements PartitionTask<T, R> {
  /** Batches of results that may wait in pinned memory until they are asked for. */
  private static final int BATCHES_AHEAD = 2;

  /**
   * What a task must know.
   *
   * @param spec what happens
   */
  record Job(StageSpec spec, Input input, StageResults.Output output) implements Serializable {
    private BlockSchema in() {
      return spec.in().mapped(input.ordinals::get);
    }

    private List<Integer> further() {
      return spec.furtherIn(input.columns.length());
    }
  }

  /**
   * How arrays come.
   *
   * @param assembled how they come in pieces; null if they come in blocks
   * @param rows schema of the child's rows
   * @param columns schema of the columns that are read
   * @param ordinals the child's column behind each of these
   * @param pieceKeys ordinals of the columns by which pieces belong together
   */
  record Input(
      AssembleSpec assembled,
      StructType rows,
      StructType columns,
      List<Integer> ordinals,
      List<Integer> pieceKeys)
      implements Serializable {}

  /** How the child's partition becomes arrays. */
  interface Source<T> extends Serializable {
    ArraySource open(Job job, Iterator<T> partition, TaskRun run);
  }

  /** Blocks or pieces in rows. */
  static ArraySource overRows(Job job, Iterator<InternalRow> rows, TaskRun run) {
    Input input = job.input();
    return input.assembled() == null
        ? overBlocks(job, BlockCursor.overRows(rows), run.allocator())
        : new ArraySource.Pieces(
            job.in(),
            new PieceGroups(input.assembled(), input.rows(), input.pieceKeys(), job.in(), rows),
            run.retained(),
            run.stayingMemory(),
            run.allocator());
  }

  /** Blocks in batches. */
  static ArraySource overBatches(Job job, Iterator<ColumnarBatch> batches, TaskRun run) {
    return overBlocks(job, BlockCursor.overBatches(batches), run.allocator());
  }

  private static ArraySource overBlocks(Job job, BlockCursor blocks, BufferAllocator allocator) {
    StageSpec spec = job.spec();
    if (spec.gathered().isEmpty()) {
      return new ArraySource.Blocks(spec, job.in(), blocks, allocator);
    }
    List<Integer> further = job.further().stream().map(job.input().ordinals()::get).toList();
    return new ArraySource.Volumes(spec, job.in(), job.input().rows(), further, blocks, allocator);
  }

  /** How results leave. */
  interface Form<R> extends Serializable {
    StageResults<R> open(StageResults.Job job, BufferAllocator allocator);
  }

  @Override
  public Iterator<R> open(Iterator<T> partition) {
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
    StageResults<R> results =
        form.open(
            new StageResults.Job(
                job.spec(),
                job.output(),
                source.open(job, run.awaited(partition), run),
                new CarriedColumns(job.input().columns(), job.further(), job.input().ordinals()),
                job.spec().trend() < 0 ? -1 : job.input().ordinals().get(job.spec().trend()),
                pipeline),
            allocator);
    run.scope().ownUsedBy(pipeline, results); // holds memory that the pipeline may be filling
    return run.counted(results, metrics);
  }
}
