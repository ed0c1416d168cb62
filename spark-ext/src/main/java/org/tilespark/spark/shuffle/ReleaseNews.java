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
 * News that an executor has from the driver's {@link Releases}. It asks from time to time, and when
 * memory is short, so that no output is written to files that nobody will read. One question is
 * under way at a time, on a thread that no task needs: a driver that does not answer costs tasks
 * {@link #PATIENCE_NANOS} once, however many there are. Thread-safe.
 */
final class ReleaseNews {
  private static final Logger LOG = LoggerFactory.getLogger(ReleaseNews.class);

  /** Between two questions of tasks. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The longest that tasks wait for the answer to a question, from its beginning on. */
  private static final long PATIENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

  private final Consumer<Release> release;
  private final ReentrantLock asking = new ReentrantLock(); // while a question is under way
  private long known; // guarded by asking: how much of the driver's list
  // Guarded by this.
  private TileShuffleManager.Asks driver; // null until it was heard once
  private CompletableFuture<Boolean> askedByTasks = CompletableFuture.completedFuture(false);
  private long askedNanos; // when the last question of tasks began, or an answer came

  /** No news yet; {@code release} releases the outputs of a shuffle. */
  ReleaseNews(Consumer<Release> release) {
    this.release = release;
  }

  /** Hears what is new, unless another thread does so now; waits for the driver. */
  void hear(TileShuffleManager.Asks theDriver) throws Exception {
    synchronized (this) {
      driver = theDriver;
    }
    boolean ignored = ask(theDriver);
  }

  /**
   * Hears what is new, unless that was asked just now; waits no longer than {@link
   * #PATIENCE_NANOS}.
   *
   * @return true if something went
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
    } catch (TimeoutException | ExecutionException e) { // memory comes from elsewhere
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

  /** True if something went; false too if another thread is asking. */
  private boolean ask(TileShuffleManager.Asks theDriver) throws Exception {
    if (!asking.tryLock()) {
      return false;
    }
    try {
      Object said = theDriver.ask(new Question(known));
      if (said instanceof long[] numbers) {
        Answer answer = Answer.of(numbers);
        known = answer.next(); // it is not said again, so that each is tried
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
    } catch (Exception e) { // checked ones too, from Spark's Scala
      LOG.warn("Could not let all outputs of shuffle {} go", each.shuffle(), e);
    }
  }
}
