package org.tilespark.bench.spark;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import org.tilespark.examples.JobArguments;

/**
 * The times of one case's rounds.
 *
 * @param name name of the case
 * @param seconds elapsed seconds of each round, sorted
 * @param cores CPU seconds of this process in each round, sorted
 */
record Times(String name, double[] seconds, double[] cores) {
  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  interface Timed {
    void run() throws InterruptedException;
  }

  /**
   * Runs the code as often as the options {@code warmups} (default 1) and {@code rounds} (3) say.
   */
  static Times measure(String name, JobArguments arguments, Timed timed)
      throws InterruptedException {
    int warmups = arguments.option("warmups").map(Integer::parseInt).orElse(1);
    for (int i = 0; i < warmups; i++) {
      timed.run();
    }
    double[] seconds =
        new double[Math.max(1, arguments.option("rounds").map(Integer::parseInt).orElse(3))];
    double[] cores = new double[seconds.length];
    for (int i = 0; i < seconds.length; i++) {
      long cpu = PROCESS.getProcessCpuTime();
      long start = System.nanoTime();
      timed.run();
      seconds[i] = (System.nanoTime() - start) / 1e9;
      cores[i] = (PROCESS.getProcessCpuTime() - cpu) / 1e9;
    }
    Arrays.sort(seconds);
    Arrays.sort(cores);
    return new Times(name, seconds, cores);
  }

  double median() {
    return median(seconds);
  }

  private static double median(double[] sorted) {
    return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
  }

  /** Formats the times as a line of a report. */
  String described() {
    return String.format(
        Locale.ROOT,
        "%.3f s (%.3f to %.3f), on cores %.3f s (%.3f to %.3f)",
        median(),
        least(),
        most(),
        median(cores),
        cores[0],
        cores[cores.length - 1]);
  }

  double least() {
    return seconds[0];
  }

  double most() {
    return seconds[seconds.length - 1];
  }
}
