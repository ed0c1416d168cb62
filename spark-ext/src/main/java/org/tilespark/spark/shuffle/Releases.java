package org.tilespark.spark.shuffle;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * The driver's list of shuffles whose outputs can go, for executors that ask. Those that have not
 * asked for long miss the oldest, which stay with them until Spark's own cleaner names them.
 * Thread-safe.
 */
final class Releases {
  /** Shuffles that are kept. */
  static final int MOST_KEPT = 4096;

  /**
   * The outputs of a shuffle can go.
   *
   * @param lastMap greatest id of the attempts at map tasks; later ones make the shuffle anew
   */
  record Release(int shuffle, long lastMap) {}

  /** An executor asks for what came since it asked last; 0 at first. */
  record Question(long since) implements Serializable {}

  /**
   * The answer. It travels as numbers: where the jar comes by {@code spark.jars}, the thread of an
   * executor that receives it cannot load our classes, and Spark then ends the executor.
   *
   * @param next question for the next time
   */
  record Answer(long next, List<Release> releases) {
    /** {@code next}, then both numbers of each. */
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
  private final ArrayDeque<Release> last = new ArrayDeque<>(); // the newest last
  private long count; // of all up to now

  /** Adds one. */
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
