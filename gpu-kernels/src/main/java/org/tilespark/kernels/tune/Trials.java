package org.tilespark.kernels.tune;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Finds the fastest of several plans that do the same. All are timed in turns, and after each round
 * only the faster half goes on, until one is left or the time is up. A plan's time is its shortest,
 * since whatever else runs on the device can only add to it.
 *
 * @param <P> the plans
 */
final class Trials<P> {
  /** Rounds after which a plan's shortest time is believed. */
  private static final int ROUNDS = 5;

  private final long budgetNanos;
  private final double leastGain;
  private final LongSupplier nanoTime;

  /**
   * Trials of one kind.
   *
   * @param budgetNanos time for one class of problems
   * @param leastGain fraction of the first plan's time that another must save to be taken
   * @param nanoTime the clock
   */
  Trials(long budgetNanos, double leastGain, LongSupplier nanoTime) {
    this.budgetNanos = budgetNanos;
    this.leastGain = leastGain;
    this.nanoTime = nanoTime;
  }

  /** Runs a plan and says how long it took. */
  interface Timer<P> {
    /** Milliseconds of one run of {@code plan}, on the device's clock. */
    double millis(P plan);
  }

  private static final class Candidate<P> {
    private final P plan;
    private double millis = Double.MAX_VALUE;

    private Candidate(P plan) {
      this.plan = plan;
    }
  }

  /**
   * The best plan; empty if the time was up before all had a fair trial.
   *
   * @param plans at least one; the first stays unless another gains enough
   * @param timer runs them
   */
  Optional<P> fastest(List<P> plans, Timer<P> timer) {
    long start = nanoTime.getAsLong();
    List<Candidate<P>> all = new ArrayList<>();
    plans.forEach(plan -> all.add(new Candidate<>(plan)));
    Candidate<P> first = all.get(0);
    List<Candidate<P>> left = new ArrayList<>(all);
    for (Candidate<P> candidate : left) {
      timer.millis(candidate.plan); // loads the kernel, and is not counted
      if (isOver(start)) {
        return Optional.empty();
      }
    }
    for (int round = 0; round < ROUNDS && left.size() > 1; round++) {
      for (Candidate<P> candidate : left) {
        for (int run = 0; run <= round; run++) { // the fewer are left, the better they are measured
          if (isOver(start)) {
            return round < 2 ? Optional.empty() : Optional.of(winner(left, first).plan);
          }
          candidate.millis = Math.min(candidate.millis, timer.millis(candidate.plan));
        }
      }
      left.sort(Comparator.comparingDouble(candidate -> candidate.millis));
      List<Candidate<P>> faster = new ArrayList<>(left.subList(0, (left.size() + 1) / 2));
      if (!faster.contains(first)) {
        faster.add(first);
      }
      left = faster;
    }
    return Optional.of(winner(left, first).plan);
  }

  private Candidate<P> winner(List<Candidate<P>> left, Candidate<P> first) {
    Candidate<P> best =
        left.stream().min(Comparator.comparingDouble(candidate -> candidate.millis)).orElseThrow();
    return best.millis < first.millis * (1 - leastGain) ? best : first;
  }

  private boolean isOver(long start) {
    return nanoTime.getAsLong() - start >= budgetNanos;
  }
}
