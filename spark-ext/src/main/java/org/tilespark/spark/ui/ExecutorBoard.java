package org.tilespark.spark.ui;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.tilespark.spark.runtime.ExecutorStatus;

/**
 * The driver's view of the application's executors: the last status of each one, and of the last
 * ended ones. Executors send their status; Spark's listener bus tells when they start and end.
 * Bounded by the number of live executors and {@link #ENDED_KEPT}. Thread-safe.
 */
public final class ExecutorBoard extends SparkListener {
  /** Ended executors that are still shown. */
  static final int ENDED_KEPT = 100;

  /** Spark's ids count up, so shorter comes first; {@code driver} stands for local mode. */
  private static final Comparator<String> BY_ID =
      Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder());

  private final Map<String, Entry> live = new TreeMap<>(BY_ID);
  private final Map<String, Entry> ended = new LinkedHashMap<>(); // oldest first

  /**
   * One executor.
   *
   * @param executorId Spark's id
   * @param host the executor's host; empty until Spark reports it
   * @param endedBecause Spark's reason why the executor ended; empty while it lives
   * @param status the executor's last status; empty if it has not reported
   */
  public record Entry(
      String executorId,
      String host,
      Optional<String> endedBecause,
      Optional<ExecutorStatus> status) {
    static Entry of(String executorId) {
      return new Entry(executorId, "", Optional.empty(), Optional.empty());
    }

    Entry on(String newHost) {
      return new Entry(executorId, newHost, endedBecause, status);
    }

    Entry saying(ExecutorStatus newStatus) {
      return new Entry(executorId, host, endedBecause, Optional.of(newStatus));
    }

    Entry ended(String reason) {
      return new Entry(executorId, host, Optional.of(reason), status);
    }
  }

  /** Takes an executor's status; one that arrives after the executor's end is kept as its last. */
  public synchronized void report(ExecutorStatus status) {
    String id = status.executorId();
    if (ended.computeIfPresent(id, (key, entry) -> entry.saying(status)) == null) {
      live.put(id, live.getOrDefault(id, Entry.of(id)).saying(status));
    }
  }

  @Override
  public void onExecutorAdded(SparkListenerExecutorAdded event) {
    added(event.executorId(), event.executorInfo().executorHost());
  }

  @Override
  public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
    removed(event.executorId(), event.reason());
  }

  /** All live executors in the order of their ids, then those that ended, the last first. */
  public synchronized List<Entry> entries() {
    List<Entry> entries = new ArrayList<>(ended.values());
    java.util.Collections.reverse(entries);
    entries.addAll(0, live.values());
    return entries;
  }

  synchronized void added(String id, String host) {
    live.put(id, live.getOrDefault(id, Entry.of(id)).on(host));
  }

  synchronized void removed(String id, String reason) {
    Entry entry = live.remove(id);
    if (entry == null) {
      return;
    }
    ended.put(id, entry.ended(reason));
    if (ended.size() > ENDED_KEPT) {
      ended.remove(ended.keySet().iterator().next());
    }
  }
}
