package org.tilespark.kernels.tune;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.launch.TuningTable;
import org.tilespark.kernels.multiply.MultiplyClass;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyWay;

/**
 * Chooses between our kernels and cuBLAS by trials, once for each class of products on one device,
 * before the first product of the class is computed.
 *
 * <p>The choice determines the order of sums, and so the last bits of results. Therefore it is
 * final: every thread waits for it, all processes use what the first one kept in the {@link
 * TuningStore}, and if the time was too short for fair trials the planner's own choice is kept. To
 * get the same bits on several machines, or without a store, name the engine instead ({@link
 * org.tilespark.kernels.multiply.MultiplyEngine}).
 */
public final class MultiplyTuner extends Tuner<MultiplyClass, MultiplyWay, MultiplyPlan> {
  /**
   * The least number of operations for which ways are tuned: fewer take a few microseconds with any
   * kernel.
   */
  public static final double LEAST_OPERATIONS = 1L << 26;

  /**
   * The least gain, as a fraction of the time, for which another way is chosen; a smaller gain may
   * be chance.
   */
  public static final double LEAST_GAIN = 0.05;

  private static final Logger LOG = LoggerFactory.getLogger(MultiplyTuner.class);

  private final Object tuning = new Object();

  /**
   * A tuner of one device.
   *
   * @param store store of the choices
   * @param budget time for one class of products, once the kernels are loaded; zero to try nothing
   */
  public MultiplyTuner(Optional<TuningStore<MultiplyClass, MultiplyWay>> store, Duration budget) {
    this(store, budget, System::nanoTime);
  }

  MultiplyTuner(
      Optional<TuningStore<MultiplyClass, MultiplyWay>> store,
      Duration budget,
      LongSupplier nanoTime) {
    super(
        TuningTable.empty(),
        budget.isZero() ? Optional.empty() : store,
        budget,
        LEAST_GAIN,
        nanoTime);
  }

  /** A tuner that tries nothing: the planner's rule decides for all problems. */
  public static MultiplyTuner off() {
    return new MultiplyTuner(Optional.empty(), Duration.ZERO);
  }

  /** The way chosen for a class; empty if none was chosen, so that the planner's rule decides. */
  public Optional<MultiplyWay> find(MultiplyClass products) {
    return table.find(products);
  }

  /** True if {@link #choose} would try the ways for this plan's problem; false for a batch. */
  public boolean isOpen(MultiplyPlan plan) {
    return !budget.isZero()
        && plan.problem().batch().count() == 1
        && 2.0 * plan.problem().m() * plan.problem().k() * plan.problem().n() >= LEAST_OPERATIONS
        && table.find(MultiplyClass.of(plan.problem())).isEmpty();
  }

  /**
   * The way for a class of products, chosen now if it was not chosen before; waits while another
   * thread chooses.
   *
   * @param products the class
   * @param plans plans of all ways, the planner's own choice first; their results are ignored
   * @param timer runs a plan and gives the milliseconds that it took, on the device's clock
   */
  public MultiplyWay choose(
      MultiplyClass products, List<MultiplyPlan> plans, ToDoubleFunction<MultiplyPlan> timer) {
    synchronized (tuning) {
      Optional<MultiplyWay> known = table.find(products);
      if (known.isEmpty()) {
        known = load().find(products); // a choice of another process
      }
      MultiplyWay way =
          known.orElseGet(
              () -> {
                MultiplyWay found = tried(products, plans, timer);
                return store.map(kept -> kept.addIfAbsent(products, found)).orElse(found);
              });
      table = table.with(products, way);
      return way;
    }
  }

  private MultiplyWay tried(
      MultiplyClass products, List<MultiplyPlan> plans, ToDoubleFunction<MultiplyPlan> timer) {
    MultiplyWay first = way(plans.get(0));
    if (plans.size() == 1) {
      return first;
    }
    for (MultiplyPlan plan : plans) {
      // A library loads its kernels at their first use, which may take longer than all trials. This
      // is not part of the budget: if it used up the budget, an unfair choice would be kept for
      // good.
      double unused = timer.applyAsDouble(plan);
      LOG.trace("{} loaded, {} ms", plan.describe(), unused);
    }
    Optional<MultiplyPlan> best = fastest(products, plans, timer, first);
    if (best.isEmpty()) {
      return first;
    }
    MultiplyWay way = way(best.get());
    if (way.isCublas() != first.isCublas()) {
      LOG.info(
          "Products {}: {} is faster than {}, and multiplies from now on", products, way, first);
    } else {
      LOG.debug("Products {}: {}", products, way);
    }
    return way;
  }

  private static MultiplyWay way(MultiplyPlan plan) {
    return plan.strategy().way().orElseThrow();
  }
}
