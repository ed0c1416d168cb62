package org.tilespark.kernels.tune;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/**
 * Finds the fastest of several equivalent plans. All plans are timed in turns, and after each round
 * only the faster half remains, until one is left or the time is up. A plan's time is the shortest
 * measured, since other work on the device can only add to it.
 *
 * @param <P> the plans
 */
final class Trials<P> {
  /** The number of rounds after which a plan's shortest time is believed. */
  private static final int ROUNDS = 5;

  private final long budgetNanos;
  private final double leastGain;
  private final LongSupplier nanoTime;

  /**
   * Trials of one kind.
   *
   * @param budget time for one class of problems
   * @param leastGain fraction of the first plan's time that another plan must save to be chosen
   * @param nanoTime the clock, in nanoseconds
   * @throws IllegalArgumentException if the budget is negative
   */
  Trials(Duration budget, double leastGain, LongSupplier nanoTime) {
    if (budget.isNegative()) {
      throw new IllegalArgumentException("Tuning budget " + budget + "; expected zero or more");
    }
    this.budgetNanos = budget.toNanos();
    this.leastGain = leastGain;
    this.nanoTime = nanoTime;
  }

  private static final class Candidate<P> {
    private final P plan;
    private double millis = Double.MAX_VALUE;

    private Candidate(P plan) {
      this.plan = plan;
    }
  }

  /**
   * The best plan; empty if the time was up before all plans had a fair trial.
   *
   * @param plans plans, at least one; the first is the best unless another saves {@code leastGain}
   *     of its time
   * @param timer runs a plan and gives the milliseconds that it took, on the device's clock
   */
  Optional<P> fastest(List<P> plans, ToDoubleFunction<P> timer) {
    long start = nanoTime.getAsLong();
    List<Candidate<P>> all = new ArrayList<>();
    plans.forEach(plan -> all.add(new Candidate<>(plan)));
    Candidate<P> first = all.get(0);
    List<Candidate<P>> left = new ArrayList<>(all);
    for (Candidate<P> candidate : left) {
      double unused = timer.applyAsDouble(candidate.plan); // loads the kernel, is not counted
      if (isOver(start)) {
        return Optional.empty();
      }
    }
    for (int round = 0; round < ROUNDS && left.size() > 1; round++) {
      for (Candidate<P> candidate : left) {
        for (int run = 0; run <= round; run++) { // fewer plans are measured more often
          if (isOver(start)) {
            return round < 2 ? Optional.empty() : Optional.of(winner(left, first).plan);
          }
          candidate.millis = Math.min(candidate.millis, timer.applyAsDouble(candidate.plan));
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
