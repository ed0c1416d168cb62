package org.tilespark.spark.runtime;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicReference;

/** Reports of the executors of this application; on the driver, where the plugin runs. */
public final class ExecutorReports {
  private static final AtomicReference<ExecutorReports> CURRENT = new AtomicReference<>();

  private final Map<String, ExecutorReport> byExecutor = new ConcurrentSkipListMap<>();

  ExecutorReports() {}

  /** Begins to collect reports. */
  public static ExecutorReports start() {
    ExecutorReports reports = new ExecutorReports();
    CURRENT.set(reports);
    return reports;
  }

  /** Forgets the collected reports. */
  public static void stop() {
    CURRENT.set(null);
  }

  /** The reports of this application; empty if it runs without the plugin. */
  public static Optional<ExecutorReports> current() {
    return Optional.ofNullable(CURRENT.get());
  }

  /** Takes one executor's report. */
  public void add(ExecutorReport report) {
    byExecutor.put(report.executorId(), report);
  }

  /** Forgets an executor that ended. */
  public void remove(String executorId) {
    byExecutor.remove(executorId);
  }

  /** Number of GPUs of all executors. */
  public int devices() {
    return byExecutor.values().stream().mapToInt(ExecutorReport::devices).sum();
  }

  /**
   * The least memory of a device that all tasks of an executor together may hold; 0 without
   * devices.
   */
  public long deviceBytes() {
    return byExecutor.values().stream()
        .mapToLong(ExecutorReport::deviceBytes)
        .filter(bytes -> bytes > 0)
        .min()
        .orElse(0);
  }

  /**
   * The reports in words: {@code 2 of 2 executors have a GPU (NVIDIA H200 ...)}, or {@code 4 GPUs
   * in 2 of 2 executors (NVIDIA H200 ...)}.
   */
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
    String who = withGpu + " of " + byExecutor.size() + " executors";
    String what = devices() > withGpu ? devices() + " GPUs in " + who : who + " have a GPU";
    return what + " (" + example + ")";
  }
}
