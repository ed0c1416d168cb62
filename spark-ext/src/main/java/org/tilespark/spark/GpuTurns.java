package org.tilespark.spark;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Lets a limited number of tasks use the device at a time. A task attempt takes one turn, however
 * many of its operators ask, and gives it back when it ends, whatever that end is. Thread-safe.
 */
public final class GpuTurns {
  private static final long POLL_MILLIS = 100;

  private final Semaphore free;
  private final Set<Long> holders = new HashSet<>();

  /** As many turns at a time. */
  GpuTurns(int concurrentTasks) {
    this.free = new Semaphore(concurrentTasks, true);
  }

  /**
   * Waits until the task may use the device; at once if it holds a turn already.
   *
   * @throws org.apache.spark.TaskKilledException if the task is killed while it waits
   */
  public void take(TaskContext task) {
    long id = task.taskAttemptId();
    synchronized (holders) {
      if (holders.contains(id)) {
        return;
      }
    }
    try {
      while (!free.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
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
            giveBack(id);
          }
        });
  }

  /** Tasks that hold a turn now. */
  public int held() {
    synchronized (holders) {
      return holders.size();
    }
  }

  private void giveBack(long id) {
    synchronized (holders) {
      if (holders.remove(id)) {
        free.release();
      }
    }
  }
}
