package org.tilespark.spark.multiply;

import java.io.Serializable;
import java.util.Iterator;
import java.util.Optional;
import java.util.UUID;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.TaskContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.spark.catalyst.PartitionBoundary;
import org.tilespark.spark.multiply.scores.TileSides;
import org.tilespark.spark.rows.BlockCursor;
import org.tilespark.spark.rows.PendingRowMemory;
import org.tilespark.spark.runtime.BackendChoice;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.runtime.Gpu;
import org.tilespark.spark.runtime.TaskRun;
import scala.Option;
import scala.runtime.AbstractFunction2;

/**
 * The body of a task that multiplies: opens a multiplier and an allocator for one partition and
 * ties both to the end of the task, whether it succeeds, fails or is killed.
 *
 * @param <T> type of the child's results: rows or batches
 */
final class MultiplyTask<T>
    extends AbstractFunction2<
        Object, scala.collection.Iterator<T>, scala.collection.Iterator<InternalRow>>
    implements Serializable {
  private static final long serialVersionUID = 1;

  /** Opens the products of one partition. */
  private interface Multiplication<T> extends Serializable {
    Iterator<InternalRow> open(
        int partition,
        Iterator<T> input,
        TaskRun run,
        PendingRowMemory rows,
        PanelMultiplier multiplier);
  }

  /**
   * Identity of the tasks that may share panels: those of one execution of one node, in one attempt
   * at one stage. Another attempt may have other input.
   */
  private record StageAttempt(String execution, int stage, int attempt) {}

  private final String execution = UUID.randomUUID().toString();
  private final Multiplication<T> products;
  private final Cuboids cuboids;
  private final BackendChoice backend;
  private final MultiplyMetrics metrics;

  private MultiplyTask(
      Multiplication<T> products, Cuboids cuboids, BackendChoice backend, MultiplyMetrics metrics) {
    this.products = products;
    this.cuboids = cuboids;
    this.backend = backend;
    this.metrics = metrics;
  }

  /** The task over shuffled and sorted pieces of both operands. */
  static MultiplyTask<InternalRow> ofPieces(
      PanelTask.Job job, Cuboids cuboids, BackendChoice backend, MultiplyMetrics metrics) {
    return new MultiplyTask<>(
        (partition, input, run, rows, multiplier) -> {
          CuboidTask.Pieces pieces = new CuboidTask.Pieces(input, run.retained());
          return job.spec().reduction().isDefined()
              ? run.scope()
                  .own(
                      new ReduceTask(
                          job,
                          cuboids,
                          partition,
                          pieces,
                          means(job.spec(), run, multiplier, metrics)))
              : new PanelTask(
                  job,
                  cuboids,
                  partition,
                  pieces,
                  multiplier,
                  new TileBlocks(job, cuboids, run.runtime().hostTransposer(), rows, metrics),
                  metrics);
        },
        cuboids,
        backend,
        metrics);
  }

  private static TileProducts.Means means(
      MultiplySpec spec, TaskRun run, PanelMultiplier multiplier, MultiplyMetrics metrics) {
    TileSides sides =
        TileSides.of(spec.reduction().get(), spec.k(), spec.type().bytes(), run.takesLargeTiles());
    return new TileProducts.Means(multiplier, sides, run.plain("vectors"), metrics);
  }

  /**
   * The task over blocks of one operand, while pieces of the other are broadcast.
   *
   * @param ranges result of {@link CheckPlacesExec}; empty if products are partial
   */
  static <T> MultiplyTask<T> ofBlocks(
      BlockCursor.Source<T> source,
      PanelTask.Job job,
      LargeBlocks.Side large,
      Broadcast<InternalRow[]> small,
      Option<Broadcast<InternalRow[]>> ranges,
      BackendChoice backend,
      MultiplyMetrics metrics) {
    return new MultiplyTask<>(
        (partition, input, run, rows, multiplier) ->
            job.spec().reduction().isDefined()
                ? run.scope()
                    .own(
                        new BroadcastReduceTask(
                            job,
                            large,
                            new LargeBlocks(job, large, source.open(input)),
                            small.value(),
                            means(job.spec(), run, multiplier, metrics)))
                : new BroadcastTask(
                    job,
                    large,
                    new BroadcastTask.Partition(partition, source.open(input)),
                    new BroadcastTask.Broadcast(small.value(), ranges.map(Broadcast::value)),
                    multiplier,
                    new TileBlocks(
                        job,
                        Cuboids.uncut(job.spec().extents()),
                        run.runtime().hostTransposer(),
                        rows,
                        metrics),
                    metrics),
        Cuboids.uncut(job.spec().extents()),
        backend,
        metrics);
  }

  @Override
  public scala.collection.Iterator<InternalRow> apply(
      Object partition, scala.collection.Iterator<T> input) {
    return PartitionBoundary.over(input, rows -> open((Integer) partition, rows));
  }

  private Iterator<InternalRow> open(int partition, Iterator<T> input) {
    TaskContext task = TaskContext.get();
    ExecutorRuntime runtime = ExecutorRuntime.current();
    Optional<Gpu> gpu =
        runtime.gpu(backend.requested(), task, devices -> cuboids.device(partition, devices));
    TaskRun run = TaskRun.start(task, runtime, gpu, "multiply");
    BufferAllocator plain = run.plain("large tile");
    PipelineListener listener = run.listener(metrics.onDevice(), metrics.onHost());
    StageAttempt peers = new StageAttempt(execution, task.stageId(), task.stageAttemptNumber());
    // Opened before the multiplier, so that it is closed after it: a device may still write to
    // rows.
    PendingRowMemory rows = run.scope().own(new PendingRowMemory(run.allocator()));
    PanelMultiplier multiplier = run.multiplier(peers, plain, listener);
    run.scope()
        .own(
            () ->
                metrics.peak(
                    run.allocator().getPeakMemoryAllocation() + plain.getPeakMemoryAllocation()));
    return run.watched(products.open(partition, run.awaited(input), run, rows, multiplier));
  }
}
