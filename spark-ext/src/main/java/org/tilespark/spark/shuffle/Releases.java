package org.tilespark.spark.shuffle;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * The driver's list of shuffles whose outputs can be released, for executors that ask. Executors
 * that have not asked for long miss the oldest shuffles, and keep them until Spark's own cleaner
 * removes them. Thread-safe.
 */
final class Releases {
  /** The most shuffles that are listed. */
  static final int MOST_KEPT = 4096;

  /**
   * A shuffle whose outputs can be released.
   *
   * @param lastMap greatest id of the attempts of map tasks whose outputs are released; later
   *     attempts compute the shuffle again
   */
  record Release(int shuffle, long lastMap) {}

  /**
   * An executor's request for releases that are new to it: {@code since} is 0 at first, then {@link
   * Answer#next}.
   */
  record Question(long since) implements Serializable {}

  /**
   * The driver's answer to a question. It is sent as numbers: if the jar was added by {@code
   * spark.jars}, the executor's receiving thread cannot load our classes, and Spark would then end
   * the executor.
   *
   * @param next count of releases so far, for the next question
   */
  record Answer(long next, List<Release> releases) {
    /**
     * The numbers that are sent: {@code next}, then {@code shuffle} and {@code lastMap} of each
     * release.
     */
    long[] encoded() {
      long[] numbers = new long[1 + 2 * releases.size()];
      numbers[0] = next;
      for (int i = 0; i < releases.size(); i++) {
        numbers[1 + 2 * i] = releases.get(i).shuffle();
        numbers[2 + 2 * i] = releases.get(i).lastMap();
      }
      return numbers;
    }

    /** Decodes the numbers of {@link #encoded}. */
    static Answer of(long[] numbers) {
      List<Release> releases = new ArrayList<>();
      for (int i = 1; i < numbers.length; i += 2) {
        releases.add(new Release(Math.toIntExact(numbers[i]), numbers[i + 1]));
      }
      return new Answer(numbers[0], releases);
    }
  }

  // Guarded by this.
  private final ArrayDeque<Release> last = new ArrayDeque<>(); // the newest release is at the end
  private long count; // number of all releases up to now

  /** Adds a release to the list. */
  synchronized void add(Release release) {
    last.add(release);
    count++;
    if (last.size() > MOST_KEPT) {
      last.remove();
    }
  }

  /** The releases since the question. */
  synchronized Answer answer(Question question) {
    long known = Math.max(question.since, count - last.size());
    long skipped = known - (count - last.size());
    return new Answer(count, new ArrayList<>(last.stream().skip(skipped).toList()));
  }
}
