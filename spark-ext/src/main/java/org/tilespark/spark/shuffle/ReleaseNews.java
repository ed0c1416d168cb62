package org.tilespark.spark.shuffle;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.shuffle.Releases.Answer;
import org.tilespark.spark.shuffle.Releases.Question;
import org.tilespark.spark.shuffle.Releases.Release;

/**
 * An executor's connection to the driver's {@link Releases}. It asks for released outputs from time
 * to time, and when memory is short, so that unneeded outputs are not written to files. One request
 * is in progress at a time, on a separate thread: a driver that does not answer delays all tasks
 * together by {@link #PATIENCE_NANOS} at most. Thread-safe.
 */
final class ReleaseNews {
  private static final Logger LOG = LoggerFactory.getLogger(ReleaseNews.class);

  /** The time between two questions that tasks ask. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The longest that tasks wait for the answer to a question, from its beginning on. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final Consumer<Release> release;
  private final ReentrantLock asking = new ReentrantLock(); // held while a question is in progress
  // Count of the driver's releases that are known here; guarded by asking.
  private long known;
  // Guarded by this.
  private TileShuffleManager.Asks driver; // the way to the driver; null before the first question
  private CompletableFuture<Boolean> askedByTasks = CompletableFuture.completedFuture(false);
  private long askedNanos; // time when the last question of tasks began, or an answer came

  /**
   * A connection that has heard of no release yet; {@code release} releases the outputs of a
   * shuffle.
   */
  ReleaseNews(Consumer<Release> release) {
    this.release = release;
  }

  /** Asks for new releases, unless another thread is asking; waits for the driver. */
  void hear(TileShuffleManager.Asks theDriver) throws Exception {
    synchronized (this) {
      driver = theDriver;
    }
    boolean ignored = ask(theDriver);
  }

  /**
   * Asks for new releases, unless that was done just now; waits at most {@link #PATIENCE_NANOS}.
   *
   * @return true if an output was released
   */
  boolean hearAgain() {
    CompletableFuture<Boolean> answer;
    long patienceNanos;
    synchronized (this) {
      long nanos = System.nanoTime() - askedNanos;
      if (askedByTasks.isDone()) {
        if (driver == null || nanos < PAUSE_NANOS) {
          return false;
        }
        askedByTasks = askOnAThread(driver);
        askedNanos = System.nanoTime();
        nanos = 0;
      }
      answer = askedByTasks;
      patienceNanos = Math.max(0, PATIENCE_NANOS - nanos);
    }
    try {
      return answer.get(patienceNanos, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) { // the task is killed
      Thread.currentThread().interrupt();
    } catch (TimeoutException | ExecutionException e) { // then memory must come from elsewhere
      LOG.debug("The driver has not said which outputs can go", e);
    }
    return false;
  }

  private CompletableFuture<Boolean> askOnAThread(TileShuffleManager.Asks theDriver) {
    CompletableFuture<Boolean> answer = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                answer.complete(ask(theDriver));
              } catch (Throwable e) {
                answer.completeExceptionally(e);
              }
            },
            "tilespark-news");
    thread.setDaemon(true);
    thread.start();
    return answer;
  }

  /** Asks the driver; true if an output was released, false also if another thread is asking. */
  private boolean ask(TileShuffleManager.Asks theDriver) throws Exception {
    if (!asking.tryLock()) {
      return false;
    }
    try {
      Object said = theDriver.ask(new Question(known));
      if (said instanceof long[] numbers) {
        Answer answer = Answer.of(numbers);
        // The driver does not repeat a release, so failures of one must not skip the others.
        known = answer.next();
        answer.releases().forEach(this::letGo);
        return !answer.releases().isEmpty();
      }
      return false;
    } finally {
      asking.unlock();
      synchronized (this) {
        askedNanos = System.nanoTime();
      }
    }
  }

  private void letGo(Release each) {
    try {
      release.accept(each);
    } catch (Exception e) { // Spark's Scala code may throw checked exceptions
      LOG.warn("Could not let all outputs of shuffle {} go", each.shuffle(), e);
    }
  }
}
