package org.tilespark.spark.runtime;

import java.util.Iterator;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.memory.ArrowMemory;
import org.tilespark.arrow.memory.DevicePlace;
import org.tilespark.arrow.panels.DevicePanelMultiplier;
import org.tilespark.arrow.panels.DevicePanels;
import org.tilespark.arrow.panels.HostPanelMultiplier;
import org.tilespark.arrow.panels.PanelMultiplier;
import org.tilespark.arrow.pipeline.PipelineListener;
import org.tilespark.arrow.pipeline.TaskScope;
import org.tilespark.spark.rows.RetainedRows;

/**
 * The resources of a task that computes: the device or the CPU, an allocator for it, and a scope
 * that is closed at the task's end, whether it succeeds, fails or is killed.
 *
 * @param gpu the device; empty on the CPU
 * @param memory memory for the device or the CPU: pinned for a device, else plain
 * @param allocator allocator of {@code memory}, for this task only; owned by {@code scope}
 * @param totals totals of this executor's work on that device or on the CPU
 * @param retained rows that pipelines read in place; owned by {@code scope}, closed last
 */
public record TaskRun(
    TaskContext task,
    ExecutorRuntime runtime,
    Optional<Gpu> gpu,
    ArrowMemory memory,
    BufferAllocator allocator,
    PipelineTotals totals,
    RetainedRows retained,
    TaskScope scope) {
  /** Least device memory, of all tasks together, with which {@link #takesLargeTiles} is true. */
  private static final long ROOM_FOR_LARGE_TILES = 4L << 30;

  /**
   * Begins a task in the thread that runs it.
   *
   * @param gpu the task's device; empty for the CPU
   * @param name name of the task's work, for messages about memory; may be empty
   * @throws org.tilespark.spark.error.StoppedException if the application has stopped
   */
  public static TaskRun start(
      TaskContext task, ExecutorRuntime runtime, Optional<Gpu> gpu, String name) {
    ArrowMemory memory = runtime.memory(gpu);
    TaskScope scope = new TaskScope();
    scope.own(runtime.use());
    task.addTaskCompletionListener(
        new TaskCompletionListener() {
          @Override
          public void onTaskCompletion(TaskContext context) {
            scope.close();
          }
        });
    RetainedRows retained = scope.own(new RetainedRows()); // first, so that it is closed last
    BufferAllocator allocator = scope.own(memory.newChild(name(task, name)));
    return new TaskRun(
        task, runtime, gpu, memory, allocator, runtime.pipelineTotals(gpu), retained, scope);
  }

  /** An allocator of plain memory, which no device reads; owned by the scope. */
  public BufferAllocator plain(String name) {
    return scope.own(runtime.memory().newChild(name(task, name)));
  }

  private static String name(TaskContext task, String name) {
    return "task " + task.taskAttemptId() + (name.isEmpty() ? "" : ", " + name);
  }

  /**
   * The multiplier of this task: on its device if it has one, otherwise on the CPU. Owned by the
   * scope.
   *
   * @param peers a key that is equal for all tasks that may share panels on a device
   * @param results allocator for large downloaded tiles; borrowed
   */
  public PanelMultiplier multiplier(
      Object peers, BufferAllocator results, PipelineListener listener) {
    if (gpu.isEmpty()) {
      return scope.own(new HostPanelMultiplier(runtime.hostMultiplier(), allocator, listener));
    }
    DevicePanels.Stage stage = scope.own(gpu.get().panels().join(peers));
    return scope.own(
        new DevicePanelMultiplier(
            place(listener),
            gpu.get().multiplier(),
            gpu.get().elementwise(),
            new DevicePanelMultiplier.Results(results, runtime.pinnedShareBytes() / 2),
            stage));
  }

  /**
   * True if a task that reduces a product tile by tile should use large tiles: a device with enough
   * memory computes them, and each tile costs it launches and waits.
   */
  public boolean takesLargeTiles() {
    return gpu.filter(used -> used.governor().limitBytes() >= ROOM_FOR_LARGE_TILES).isPresent();
  }

  /** The resources of this task's pipelines on its device. */
  public DevicePlace place(PipelineListener listener) {
    Gpu used = gpu.orElseThrow();
    return new DevicePlace(
        used.device(), memory, used.governor(), allocator, runtime.turns().of(task), listener);
  }

  /** The listener for this task's device or the CPU; it also reports to the executor's totals. */
  public PipelineListener listener(PipelineListener onDevice, PipelineListener onHost) {
    return PipelineListener.both(gpu.isPresent() ? onDevice : onHost, totals);
  }

  /**
   * The task's {@code input}, wrapped so that another task may take the turn while this one waits
   * for input.
   */
  public <T> Iterator<T> awaited(Iterator<T> input) {
    return gpu.isEmpty() ? input : runtime.turns().awaited(task, input);
  }

  /** The {@code results}, wrapped so that a device lost meanwhile is reported to the executor. */
  public <T> Iterator<T> watched(Iterator<T> results) {
    return new DeviceWatch<>(results, runtime, result -> {});
  }

  /** Runs {@code work}; reports a device lost meanwhile to the executor. */
  public <T> T watched(Supplier<T> work) {
    return DeviceWatch.during(work, runtime);
  }

  /** Passes this task's turn to another one; the task must have no work on its device. */
  public void passTurn() {
    if (gpu.isPresent()) {
      runtime.turns().pass(task);
    }
  }

  /**
   * A test of memory that stays until the task ends: whether this task's device can read it in
   * place.
   */
  public StayingMemory stayingMemory() {
    return scope.own(new StayingMemory(memory));
  }

  /**
   * The {@code results}, counted, and wrapped so that a device lost meanwhile is reported to the
   * executor.
   */
  public <R> Iterator<R> counted(Iterator<R> results, TaskMetrics metrics) {
    return new DeviceWatch<>(
        results,
        runtime,
        result -> {
          int blocks = result instanceof ColumnarBatch batch ? batch.numRows() : 1;
          metrics.handedOut(blocks);
          totals.handedOut(blocks);
        });
  }
}
