package org.tilespark.spark.shuffle;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The last shuffles of blocks of an application, for the GPU tab. Thread-safe. */
final class ServedShuffles {
  private static final int MOST_KEPT = 100;

  private final ArrayDeque<ServedShuffle> last = new ArrayDeque<>(); // guarded by this

  /** Adds one, and forgets the oldest if there are too many. */
  synchronized void add(ServedShuffle shuffle) {
    last.add(shuffle);
    if (last.size() > MOST_KEPT) {
      last.remove();
    }
  }

  /** Those that are kept, the newest first. */
  synchronized List<ServedShuffle> last() {
    List<ServedShuffle> newestFirst = new ArrayList<>(last);
    Collections.reverse(newestFirst);
    return newestFirst;
  }
}
