package org.tilespark.spark.runtime;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.pipeline.DeviceTask;

/**
 * Lets a limited number of tasks use a device at a time. A task attempt takes one turn, however
 * many of its operators ask, and gives it back when it ends, whatever that end is. Thread-safe.
 */
public final class GpuTurns {
  private static final long POLL_MILLIS = 100;

  private final int concurrentTasks;
  private final ToIntFunction<TaskContext> deviceOf;
  private final Map<Integer, Semaphore> free = new ConcurrentHashMap<>(); // by device
  private final Set<Long> holders = new HashSet<>();
  private final Map<Long, DeviceTask> tasks = new ConcurrentHashMap<>();

  /**
   * As many turns at a time on each device.
   *
   * @param deviceOf says which device a task uses
   */
  GpuTurns(int concurrentTasks, ToIntFunction<TaskContext> deviceOf) {
    this.concurrentTasks = concurrentTasks;
    this.deviceOf = deviceOf;
  }

  /** The task's one use of its device, shared by all of its operators. */
  public DeviceTask of(TaskContext task) {
    long id = task.taskAttemptId();
    DeviceTask made = new DeviceTask(() -> take(task));
    DeviceTask known = tasks.putIfAbsent(id, made);
    if (known != null) {
      return known;
    }
    task.addTaskCompletionListener(
        new TaskCompletionListener() {
          @Override
          public void onTaskCompletion(TaskContext context) {
            tasks.remove(id);
          }
        });
    return made;
  }

  /**
   * Waits until the task may use its device; at once if it holds a turn already.
   *
   * @throws org.apache.spark.TaskKilledException if the task has been killed, or is while it waits
   */
  void take(TaskContext task) {
    long id = task.taskAttemptId();
    synchronized (holders) {
      if (holders.contains(id)) {
        task.killTaskIfInterrupted();
        return;
      }
    }
    Semaphore turns =
        free.computeIfAbsent(
            deviceOf.applyAsInt(task), device -> new Semaphore(concurrentTasks, true));
    try {
      while (!turns.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
        task.killTaskIfInterrupted();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      task.killTaskIfInterrupted();
      throw new IllegalStateException("Interrupted while waiting for the GPU", e);
    }
    synchronized (holders) {
      holders.add(id);
    }
    task.addTaskCompletionListener(
        new TaskCompletionListener() {
          @Override
          public void onTaskCompletion(TaskContext context) {
            giveBack(id, turns);
          }
        });
  }

  /** Tasks that hold a turn now, on all devices. */
  public int held() {
    synchronized (holders) {
      return holders.size();
    }
  }

  private void giveBack(long id, Semaphore turns) {
    synchronized (holders) {
      if (holders.remove(id)) {
        turns.release();
      }
    }
  }
}
