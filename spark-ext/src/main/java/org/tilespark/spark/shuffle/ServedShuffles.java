package org.tilespark.spark.shuffle;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The last shuffles of blocks of an application, for the GPU tab. Thread-safe. */
final class ServedShuffles {
  private static final int MOST_KEPT = 100;

  // Guarded by this. Ring buffers, without an object for each shuffle.
  private final int[] ids = new int[MOST_KEPT];
  // Null if the exchange in memory serves the shuffle
  private final String[] reasons = new String[MOST_KEPT];
  private long count; // number of all shuffles up to now

  /** Adds a shuffle, and drops the oldest if there are too many. */
  synchronized void add(int shuffleId, Optional<String> whySpark) {
    int at = (int) (count++ % MOST_KEPT);
    ids[at] = shuffleId;
    reasons[at] = whySpark.orElse(null);
  }

  /** The kept entries, the newest first. */
  synchronized List<ServedShuffle> last() {
    List<ServedShuffle> newestFirst = new ArrayList<>();
    for (long i = count - 1; i >= Math.max(0, count - MOST_KEPT); i--) {
      int at = (int) (i % MOST_KEPT);
      newestFirst.add(new ServedShuffle(ids[at], Optional.ofNullable(reasons[at])));
    }
    return newestFirst;
  }
}
