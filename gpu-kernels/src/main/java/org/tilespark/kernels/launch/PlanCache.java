package org.tilespark.kernels.launch;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * Keeps a fixed number of decisions; the least recently used one is dropped first. Safe for several
 * threads.
 *
 * @param <K> requests, with value semantics
 * @param <V> decisions
 */
public final class PlanCache<K, V> {
  private final Map<K, V> entries;

  /**
   * An empty cache.
   *
   * @throws IllegalArgumentException if {@code capacity} is less than 1
   */
  public PlanCache(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException(
          "Plan cache of " + capacity + " plans; expected 1 or more");
    }
    entries =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
            return size() > capacity;
          }
        };
  }

  /** The decision for {@code key}, made by {@code planner} if it is not cached. */
  public V get(K key, Function<? super K, ? extends V> planner) {
    synchronized (entries) {
      V known = entries.get(key);
      if (known != null) {
        return known;
      }
    }
    // The planner runs outside the lock: two threads may ask for the same decision, and both get
    // equal ones.
    V planned = planner.apply(key);
    synchronized (entries) {
      entries.put(key, planned);
    }
    return planned;
  }

  /** Forgets all decisions, since their assumptions no longer hold. */
  public void clear() {
    synchronized (entries) {
      entries.clear();
    }
  }

  /** The number of decisions that are kept. */
  public int size() {
    synchronized (entries) {
      return entries.size();
    }
  }
}
