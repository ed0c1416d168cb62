package org.tilespark.spark.shuffle;

import java.util.LinkedHashMap;
import java.util.Map;
import org.tilespark.arrow.store.MapOutput;
import org.tilespark.spark.shuffle.Releases.Release;

/**
 * Released outputs, by their shuffles: an attempt of a map task may still complete one of them
 * later. It remembers as many shuffles as the driver. Thread-safe.
 */
final class ReleasedOutputs {
  // Guarded by this: lastMap of the Release by shuffle; the newest release is at the end.
  private final Map<Integer, Long> lastMaps = new LinkedHashMap<>();

  /** Adds outputs, and forgets those of the oldest shuffle if there are too many. */
  synchronized void add(Release release) {
    Long before = lastMaps.remove(release.shuffle());
    long lastMap = before == null ? release.lastMap() : Math.max(before, release.lastMap());
    lastMaps.put(release.shuffle(), lastMap);
    if (lastMaps.size() > Releases.MOST_KEPT) {
      lastMaps.remove(lastMaps.keySet().iterator().next());
    }
  }

  /** True if nobody will read this output. */
  synchronized boolean has(MapOutput.Id output) {
    Long lastMap = lastMaps.get(output.shuffle());
    return lastMap != null && output.map() <= lastMap;
  }
}
