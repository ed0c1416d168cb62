package org.tilespark.spark.runtime;

import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends the executor's status to the driver: at the start, within a second after a task ended, and
 * every ten seconds. A separate thread does this, so tasks do not wait. Thread-safe.
 */
public final class StatusSender implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StatusSender.class);

  private static final long AFTER_TASK_MILLIS = 1_000;
  private static final long INTERVAL_MILLIS = 10_000;
  private static final long CLOSING_MILLIS = 2_000;

  /** The way to the driver. */
  public interface Line {
    /** Hands a message over; it may be lost without notice. */
    void send(Object message) throws Exception;
  }

  private final Line line;
  private final Supplier<ExecutorStatus> status;
  private final AtomicBoolean pending = new AtomicBoolean();
  private final AtomicBoolean saidFailure = new AtomicBoolean();
  private final ScheduledThreadPoolExecutor thread =
      new ScheduledThreadPoolExecutor(
          1,
          work -> {
            Thread made = new Thread(work, "tilespark-status");
            made.setDaemon(true);
            return made;
          },
          new ThreadPoolExecutor.DiscardPolicy()); // tasks may end while the executor does

  /** Begins to send the results of {@code status}. */
  public StatusSender(Line line, Supplier<ExecutorStatus> status) {
    this.line = line;
    this.status = status;
    var ignored =
        thread.scheduleWithFixedDelay(this::now, 0, INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Sends a status within a second, one for all calls until then; called when a task ended. */
  public void soon() {
    if (pending.compareAndSet(false, true)) {
      var ignored =
          thread.schedule(
              () -> {
                pending.set(false);
                now();
              },
              AFTER_TASK_MILLIS,
              TimeUnit.MILLISECONDS);
    }
  }

  /** Sends a status at once, on the caller's thread. */
  public void now() {
    try {
      line.send(status.get());
    } catch (InterruptedException e) { // the sender is being closed
      Thread.currentThread().interrupt();
    } catch (Exception e) { // a lost status must fail no task and no executor
      if (saidFailure.compareAndSet(false, true)) {
        LOG.warn(
            "Could not talk to the driver; the GPU tab may be behind, and outputs that nobody reads"
                + " stay in memory for longer",
            e);
      }
    }
  }

  /** Stops the sender; waits briefly for a status that is being sent. */
  @Override
  public void close() {
    thread.shutdownNow();
    try {
      if (!thread.awaitTermination(CLOSING_MILLIS, TimeUnit.MILLISECONDS)) {
        LOG.warn("A status is still being sent while the executor ends");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
