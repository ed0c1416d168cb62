package org.tilespark.spark.runtime;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.error.StoppedException;

/**
 * Runs preparatory steps ahead of need, one after the other on a separate thread. The first failure
 * is logged and ends them: a task that needs the result tries again, and fails where failures are
 * handled.
 */
final class Ahead implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Ahead.class);

  /**
   * The longest that closing waits: steps take a second or two, and a driver that never answers
   * must not keep an application alive.
   */
  private static final long MOST_WAIT_MILLIS = 30_000;

  private final List<Step> steps;
  private final Thread thread;
  private volatile boolean closed;

  /**
   * A step.
   *
   * @param what name of the prepared resource, for the log
   * @param work runs a part of the step; true while more is left
   */
  record Step(String what, BooleanSupplier work) {
    /** A step that is done in one part. */
    static Step once(String what, Runnable work) {
      return new Step(
          what,
          () -> {
            work.run();
            return false;
          });
    }
  }

  private Ahead(List<Step> steps) {
    this.steps = List.copyOf(steps);
    this.thread = new Thread(this::take, "tilespark-ahead");
    thread.setDaemon(true);
  }

  /** Begins with the first step and returns at once. */
  static Ahead begin(List<Step> steps) {
    Ahead begun = new Ahead(steps);
    begun.thread.start();
    return begun;
  }

  private void take() {
    for (Step step : steps) {
      long start = System.nanoTime();
      try {
        boolean isMoreLeft = true;
        while (isMoreLeft) {
          if (closed) {
            return;
          }
          isMoreLeft = step.work().getAsBoolean();
        }
        LOG.debug(
            "{} ready after {} ms",
            step.what(),
            TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
      } catch (StoppedException e) {
        return;
      } catch (Throwable e) { // an exception that left this thread would end the executor
        LOG.warn("Could not open {} ahead; tasks will try again", step.what(), e);
        return;
      }
    }
  }

  /** Takes no further step, and waits for the running part. May be called twice. */
  @Override
  public void close() {
    closed = true;
    try {
      thread.join(MOST_WAIT_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      LOG.warn(
          "The executor ends while its device is being opened, which has taken {} s",
          TimeUnit.MILLISECONDS.toSeconds(MOST_WAIT_MILLIS));
    }
  }
}
