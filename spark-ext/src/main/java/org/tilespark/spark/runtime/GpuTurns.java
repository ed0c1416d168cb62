package org.tilespark.spark.runtime;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.tilespark.arrow.pipeline.DeviceTask;

/**
 * Bounds the number of tasks that use a device at a time. A task attempt takes one turn (the right
 * to use its device) for all of its operators, and gives it back when it ends in any way.
 * Thread-safe.
 *
 * <p>A task that waits for its input loses its turn to a task that waits for a turn: the input may
 * be a cached partition that the other task computes. It takes another turn before it uses the
 * device again.
 */
public final class GpuTurns {
  private static final long POLL_MILLIS = 100;

  /** Number of polls without input after which a task counts as waiting for its input. */
  private static final int PATIENT_POLLS = 10;

  private final int concurrentTasks;
  private final ToIntFunction<TaskContext> deviceOf;
  // Free turns of each device, by its number
  private final Map<Integer, Semaphore> free = new ConcurrentHashMap<>();
  private final Map<Long, Turn> turns = new ConcurrentHashMap<>(); // by id of the task attempt

  /**
   * Turns of at most {@code concurrentTasks} tasks at a time on each device.
   *
   * @param deviceOf gives the number of the device that a task uses
   */
  GpuTurns(int concurrentTasks, ToIntFunction<TaskContext> deviceOf) {
    this.concurrentTasks = concurrentTasks;
    this.deviceOf = deviceOf;
  }

  /** The state of one task attempt. */
  private final class Turn {
    private final DeviceTask task;
    private Semaphore device; // free turns of the device that the task used last; null before
    private boolean held; // true if the task holds a turn; guarded by turns, as is device
    private volatile boolean awaitsInput;
    private volatile long inputs; // number of requests for input; written by the task's thread

    Turn(TaskContext context) {
      this.task = new DeviceTask(() -> take(context));
    }
  }

  private Turn turn(TaskContext task) {
    long id = task.taskAttemptId();
    Turn known = turns.get(id);
    if (known != null) {
      return known;
    }
    Turn made = new Turn(task);
    known = turns.putIfAbsent(id, made);
    if (known != null) {
      return known;
    }
    task.addTaskCompletionListener(
        new TaskCompletionListener() {
          @Override
          public void onTaskCompletion(TaskContext context) {
            turns.remove(id);
            giveBack(made);
          }
        });
    return made;
  }

  /** The task's one use of its device, shared by all of its operators. */
  public DeviceTask of(TaskContext task) {
    return turn(task).task;
  }

  /** The input of one of the task's operators; while it waits, other tasks may take its turn. */
  <T> Iterator<T> awaited(TaskContext task, Iterator<T> input) {
    Turn turn = turn(task);
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        begin();
        try {
          return input.hasNext();
        } finally {
          turn.awaitsInput = false;
        }
      }

      @Override
      public T next() {
        begin();
        try {
          return input.next();
        } finally {
          turn.awaitsInput = false;
        }
      }

      @SuppressWarnings("NonAtomicVolatileUpdate") // the task's thread alone
      private void begin() {
        turn.inputs++;
        turn.awaitsInput = true;
      }
    };
  }

  /**
   * Waits until the task may use its device; returns immediately if it holds a turn already.
   *
   * @throws org.apache.spark.TaskKilledException if the task has been killed, or is while it waits
   */
  void take(TaskContext task) {
    Turn turn = turn(task);
    turn.awaitsInput =
        false; // the awaited input comes from an operator of this task, which computes it now
    boolean hadTurn;
    synchronized (turns) {
      if (turn.held) {
        task.killTaskIfInterrupted();
        return;
      }
      hadTurn = turn.device != null;
      turn.device =
          free.computeIfAbsent(
              deviceOf.applyAsInt(task), device -> new Semaphore(concurrentTasks, true));
    }
    if (hadTurn) { // the task that took the turn may need the memory of this task's batches
      turn.task.settle();
    }
    Map<Turn, Wait> waits = new HashMap<>();
    try {
      while (!turn.device.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
        task.killTaskIfInterrupted();
        if (takeFromWhoWaits(turn, waits)) {
          return;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      task.killTaskIfInterrupted();
      throw new IllegalStateException("Interrupted while waiting for the GPU", e);
    }
    synchronized (turns) {
      turn.held = true;
    }
  }

  /** Gives the task's turn back until it takes another. */
  void pass(TaskContext task) {
    giveBack(turn(task));
  }

  /** The number of polls that found a task waiting for the same input. */
  private record Wait(long inputs, int polls) {}

  /** Takes the turn of a task that has waited long for its input; false if there is none. */
  private boolean takeFromWhoWaits(Turn taker, Map<Turn, Wait> waits) {
    synchronized (turns) {
      for (Turn each : turns.values()) {
        if (!each.held || each.device != taker.device || !each.awaitsInput) {
          waits.remove(each);
          continue;
        }
        Wait before = waits.get(each);
        long inputs = each.inputs;
        int polls = before == null || before.inputs != inputs ? 1 : before.polls + 1;
        waits.put(each, new Wait(inputs, polls));
        if (polls > PATIENT_POLLS) {
          each.held = false;
          taker.held = true;
          return true;
        }
      }
    }
    return false;
  }

  /** Tasks that hold a turn now, on all devices. */
  public int held() {
    synchronized (turns) {
      return (int) turns.values().stream().filter(turn -> turn.held).count();
    }
  }

  private void giveBack(Turn turn) {
    synchronized (turns) {
      if (turn.held) {
        turn.held = false;
        turn.device.release();
      }
    }
  }
}
