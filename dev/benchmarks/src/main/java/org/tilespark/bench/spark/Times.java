package org.tilespark.bench.spark;

import java.util.Arrays;
import org.tilespark.examples.JobArguments;

/**
 * How long the rounds of one case took.
 *
 * @param name of the case
 * @param seconds of each round, sorted
 */
record Times(String name, double[] seconds) {
  /** Something to be timed. */
  interface Timed {
    void run() throws InterruptedException;
  }

  /** Runs it as often as the options {@code warmups} (1) and {@code rounds} (3) say. */
  static Times measure(String name, JobArguments arguments, Timed timed)
      throws InterruptedException {
    int warmups = arguments.option("warmups").map(Integer::parseInt).orElse(1);
    for (int i = 0; i < warmups; i++) {
      timed.run();
    }
    double[] seconds =
        new double[Math.max(1, arguments.option("rounds").map(Integer::parseInt).orElse(3))];
    for (int i = 0; i < seconds.length; i++) {
      long start = System.nanoTime();
      timed.run();
      seconds[i] = (System.nanoTime() - start) / 1e9;
    }
    Arrays.sort(seconds);
    return new Times(name, seconds);
  }

  double median() {
    return (seconds[(seconds.length - 1) / 2] + seconds[seconds.length / 2]) / 2;
  }

  double least() {
    return seconds[0];
  }

  double most() {
    return seconds[seconds.length - 1];
  }
}
