package org.tilespark.spark.planner;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicReference;

/** What the executors of this application reported; on the driver, where the plugin runs. */
public final class ExecutorReports {
  private static final AtomicReference<ExecutorReports> CURRENT = new AtomicReference<>();

  private final Map<String, ExecutorReport> byExecutor = new ConcurrentSkipListMap<>();

  private ExecutorReports() {}

  /** Begins to collect. */
  public static ExecutorReports start() {
    ExecutorReports reports = new ExecutorReports();
    CURRENT.set(reports);
    return reports;
  }

  /** Forgets what was collected. */
  public static void stop() {
    CURRENT.set(null);
  }

  /** The reports of this application; empty if it runs without the plugin. */
  static Optional<ExecutorReports> current() {
    return Optional.ofNullable(CURRENT.get());
  }

  /** Takes one executor's report. */
  public void add(ExecutorReport report) {
    byExecutor.put(report.executorId(), report);
  }

  /** In words: {@code 2 of 2 executors have a GPU (NVIDIA H200 ...)}. */
  String summary() {
    long withGpu = byExecutor.values().stream().filter(ExecutorReport::hasGpu).count();
    if (byExecutor.isEmpty()) {
      return "no executor has reported yet";
    }
    String example =
        byExecutor.values().stream()
            .filter(report -> report.hasGpu() == withGpu > 0)
            .map(ExecutorReport::description)
            .findFirst()
            .orElse("");
    return withGpu + " of " + byExecutor.size() + " executors have a GPU (" + example + ")";
  }
}
