package org.tilespark.kernels.tune;

import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.transpose.ProblemClass;
import org.tilespark.kernels.transpose.Tiling;
import org.tilespark.kernels.transpose.TransposePlan;
import org.tilespark.kernels.transpose.TransposePlanner;

/**
 * Chooses tilings. The planner's own choice stays unless another tiling saves {@value #LEAST_GAIN}
 * of its time. One thread tunes; meanwhile other threads run the planner's choice.
 */
public final class Autotuner extends Tuner<ProblemClass, Tiling, TransposePlan> {
  /**
   * The least number of bytes for which tilings are tuned: fewer bytes take a few microseconds with
   * any tiling.
   */
  public static final long LEAST_BYTES = 1L << 20;

  private static final Logger LOG = LoggerFactory.getLogger(Autotuner.class);

  /**
   * The least gain, as a fraction of the time, for which another tiling is chosen, if other work
   * may disturb the trials.
   */
  public static final double LEAST_GAIN = 0.01;

  private final DeviceKernels device;
  private final LongSupplier nanoTime;
  private final ReentrantLock tuning = new ReentrantLock();
  private final Set<ProblemClass> undecided = new HashSet<>(); // tried in vain; guarded by tuning

  /**
   * A tuner of one device.
   *
   * @param device the device's limits and the kernels of this jar
   * @param bundled tilings to start from; their classes are not tuned
   * @param store store of the results; its tilings take precedence over {@code bundled}
   * @param budget time for one class of problems; zero to try nothing and use known tilings
   */
  public Autotuner(
      DeviceKernels device,
      TuningTable<ProblemClass, Tiling> bundled,
      Optional<TuningStore<ProblemClass, Tiling>> store,
      Duration budget) {
    this(device, bundled, store, budget, LEAST_GAIN, System::nanoTime);
  }

  /**
   * A tuner without a store, for a device without other work.
   *
   * @param leastGain the least gain, as a fraction of the time, for which another tiling is chosen
   */
  public static Autotuner undisturbed(DeviceKernels device, Duration budget, double leastGain) {
    return new Autotuner(
        device, TuningTable.empty(), Optional.empty(), budget, leastGain, System::nanoTime);
  }

  Autotuner(
      DeviceKernels device,
      TuningTable<ProblemClass, Tiling> bundled,
      Optional<TuningStore<ProblemClass, Tiling>> store,
      Duration budget,
      double leastGain,
      LongSupplier nanoTime) {
    super(bundled, store, budget, leastGain, nanoTime);
    this.device = device;
    this.nanoTime = nanoTime;
  }

  /** A tuner that tries nothing and uses the tilings in this jar. */
  public static Autotuner off(DeviceKernels device) {
    return new Autotuner(
        device, Tiling.bundled(device.limits().architecture()), Optional.empty(), Duration.ZERO);
  }

  /** True if other tilings for {@code plan} may be faster and were not tried yet. */
  public boolean isOpen(TransposePlan plan) {
    return !budget.isZero()
        && plan.problem().bytes() >= LEAST_BYTES
        && TransposePlanner.problemClass(plan)
            .filter(problems -> table.find(problems).isEmpty())
            .isPresent();
  }

  /**
   * Finds the tiling for the class of {@code plan}, unless another thread is tuning.
   *
   * @param plan the planner's choice, for which {@link #isOpen} holds
   * @param timer runs a plan of the same problem and gives the milliseconds that it took, on the
   *     device's clock
   * @return true if a tiling is known now, so that the caller should ask the planner again
   */
  public boolean tune(TransposePlan plan, ToDoubleFunction<TransposePlan> timer) {
    ProblemClass problems = TransposePlanner.problemClass(plan).orElseThrow();
    if (!tuning.tryLock()) {
      return false;
    }
    try {
      if (table.find(problems).isPresent()) {
        return true; // another thread was faster
      }
      if (undecided.contains(problems)) {
        return false;
      }
      long start = nanoTime.getAsLong();
      Optional<TransposePlan> best =
          fastest(problems, TransposePlanner.alternatives(plan, device), timer, plan.describe());
      if (best.isEmpty()) {
        undecided.add(problems);
        return false;
      }
      Tiling tiling = TransposePlanner.tiling(best.get()).orElseThrow();
      table = table.with(problems, tiling);
      LOG.debug(
          "Tuning {}: {} after {} ms",
          problems,
          tiling,
          Duration.ofNanos(nanoTime.getAsLong() - start).toMillis());
      store.ifPresent(kept -> kept.put(problems, tiling));
      return true;
    } finally {
      tuning.unlock();
    }
  }
}
