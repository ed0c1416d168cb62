package org.tilespark.spark.shuffle;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.spark.shuffle.Releases.Answer;
import org.tilespark.spark.shuffle.Releases.Question;
import org.tilespark.spark.shuffle.Releases.Release;

/**
 * What an executor has heard from the driver's {@link Releases}. It asks from time to time, and
 * when memory is short, so that no output is written to files that nobody will read. Thread-safe.
 */
final class ReleaseNews {
  private static final Logger LOG = LoggerFactory.getLogger(ReleaseNews.class);

  /** Between two questions of tasks. */
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final Consumer<Release> release;
  // Guarded by this.
  private TileShuffleManager.Asks driver; // null until it was heard once
  private long known; // how much of its list
  private long heardNanos;

  /** Nothing yet; {@code release} lets the outputs of a shuffle go. */
  ReleaseNews(Consumer<Release> release) {
    this.release = release;
  }

  /** Hears what is new. */
  synchronized void hear(TileShuffleManager.Asks theDriver) throws Exception {
    driver = theDriver;
    boolean ignored = hear();
  }

  /** Hears what is new, unless it did so just now; true if something can go. */
  synchronized boolean hearAgain() {
    if (driver == null || System.nanoTime() - heardNanos < PAUSE_NANOS) {
      return false;
    }
    try {
      return hear();
    } catch (InterruptedException e) { // the task is killed
      Thread.currentThread().interrupt();
    } catch (Exception e) { // memory comes from elsewhere
      LOG.debug("Could not ask the driver which outputs can go", e);
    }
    return false;
  }

  private boolean hear() throws Exception {
    Object said = driver.ask(new Question(known));
    heardNanos = System.nanoTime();
    if (said instanceof long[] numbers) {
      Answer answer = Answer.of(numbers);
      known = answer.next(); // it is not said again, so that each is tried
      answer.releases().forEach(this::letGo);
      return !answer.releases().isEmpty();
    }
    return false;
  }

  private void letGo(Release each) {
    try {
      release.accept(each);
    } catch (Exception e) { // checked ones too, from Spark's Scala
      LOG.warn("Could not let all outputs of shuffle {} go", each.shuffle(), e);
    }
  }
}
