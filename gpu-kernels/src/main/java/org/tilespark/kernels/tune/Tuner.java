package org.tilespark.kernels.tune;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.launch.TuningTable;

/**
 * Chooses among plans by trying them in turns ({@link Trials}), once for each class of problems of
 * one device. Choices are kept in a {@link TuningStore}, if there is one, and so outlive the
 * process. Thread-safe.
 *
 * @param <K> classes of problems
 * @param <V> choices
 * @param <P> plans
 */
public abstract sealed class Tuner<K, V, P> permits Autotuner, MultiplyTuner {
  private static final Logger LOG = LoggerFactory.getLogger(Tuner.class);

  final Optional<TuningStore<K, V>> store;
  final Duration budget;
  private final Trials<P> trials;
  volatile TuningTable<K, V> table; // the choices by which plans are made

  /**
   * A tuner of one device.
   *
   * @param bundled choices to start from
   * @param store store of the choices; its choices take precedence over {@code bundled}
   * @param budget time for one class of problems; zero to try nothing and use known choices
   * @param leastGain fraction of the first plan's time that another plan must save to be chosen
   * @param nanoTime the clock, in nanoseconds
   */
  Tuner(
      TuningTable<K, V> bundled,
      Optional<TuningStore<K, V>> store,
      Duration budget,
      double leastGain,
      LongSupplier nanoTime) {
    this.store = store;
    this.table = bundled.with(load());
    this.budget = budget;
    this.trials = new Trials<>(budget, leastGain, nanoTime);
  }

  /** Loads the choices of the store; none without a store. */
  final TuningTable<K, V> load() {
    return store.map(TuningStore::load).orElseGet(TuningTable::empty);
  }

  /** The choices that are known now. */
  public final TuningTable<K, V> table() {
    return table;
  }

  /**
   * The fastest plan; empty if the budget was too short to compare them, which is logged.
   *
   * @param plans plans, at least one; the first is the fastest unless another saves enough of its
   *     time
   */
  final Optional<P> fastest(K problems, List<P> plans, ToDoubleFunction<P> timer, Object stays) {
    Optional<P> best = trials.fastest(plans, timer);
    if (best.isEmpty()) {
      LOG.info(
          "Tuning {}: {} ms were too short to compare the plans; {} stays",
          problems,
          budget.toMillis(),
          stays);
    }
    return best;
  }
}
