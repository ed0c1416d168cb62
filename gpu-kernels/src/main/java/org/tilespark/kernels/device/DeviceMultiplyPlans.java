package org.tilespark.kernels.device;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.PlanCache;
import org.tilespark.kernels.multiply.MultiplyClass;
import org.tilespark.kernels.multiply.MultiplyEngine;
import org.tilespark.kernels.multiply.MultiplyPlan;
import org.tilespark.kernels.multiply.MultiplyPlanner;
import org.tilespark.kernels.multiply.MultiplyProblem;
import org.tilespark.kernels.multiply.MultiplyWay;
import org.tilespark.kernels.tune.MultiplyTuner;
import org.tilespark.kernels.tune.TuningStore;

/**
 * How multiplies run on one device: by rule or as measured, with cuBLAS if it can be used. Opens
 * cuBLAS when it may first be needed. Safe for several threads.
 */
final class DeviceMultiplyPlans implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DeviceMultiplier.class);

  private static final int PLANS = 1024;

  private final CudaDevice device;
  private final MultiplyEngine engine;
  private final List<Path> libraryPath;
  private final DeviceMultiplier.Tuning tuning;
  private final PlanCache<Key, Availability<MultiplyPlan>> plans = new PlanCache<>(PLANS);
  private Opened opened; // null until it is needed; guarded by this

  /** Key of a plan; if the way is empty, the planner's rule decides. */
  private record Key(MultiplyProblem problem, long terms, Optional<MultiplyWay> way) {}

  /**
   * cuBLAS if it can be used, the planner that knows that, and the tuner, whose choices are valid
   * for this version of cuBLAS.
   */
  private record Opened(
      Availability<Cublas> cublas, MultiplyPlanner planner, MultiplyTuner tuner) {}

  DeviceMultiplyPlans(
      CudaDevice device,
      MultiplyEngine engine,
      List<Path> libraryPath,
      DeviceMultiplier.Tuning tuning) {
    this.device = device;
    this.engine = engine;
    this.libraryPath = List.copyOf(libraryPath);
    this.tuning = tuning;
  }

  private synchronized Opened opened() {
    if (opened == null) {
      opened = open();
    }
    return opened;
  }

  private Opened open() {
    if (engine == MultiplyEngine.OWN) {
      return opened(Availability.not("it is ruled out by engine OWN"), "");
    }
    Availability<Cublas> found = Cublas.open(device, libraryPath);
    if (!found.isPresent()) {
      return opened(found, "");
    }
    Cublas cublas = found.get();
    try {
      return opened(found, cublas.version());
    } catch (DeviceOutOfMemoryException e) {
      cublas.close();
      throw e; // another time there may be enough memory
    } catch (CudaFailure e) {
      cublas.close();
      if (e.isSticky() || engine == MultiplyEngine.CUBLAS) {
        throw e;
      }
      String reason = "it cannot be used: " + e.getMessage();
      LOG.warn("cuBLAS was found, but {}; own kernels multiply", reason);
      return opened(Availability.not(reason), "");
    }
  }

  private Opened opened(Availability<Cublas> cublas, String version) {
    return new Opened(
        cublas, new MultiplyPlanner(device.ownKernels(), cublas, engine), tuner(version));
  }

  private MultiplyTuner tuner(String cublasVersion) {
    if (tuning.budget().isZero() || engine == MultiplyEngine.CUBLAS) {
      return MultiplyTuner.off();
    }
    String kernels = device.kernels().index().hash();
    return new MultiplyTuner(
        tuning
            .cacheDirectory()
            .map(
                directory ->
                    TuningStore.ofMultiplies(
                        directory, device.description(), kernels, cublasVersion)),
        tuning.budget());
  }

  Availability<Cublas> cublas() {
    return opened().cublas();
  }

  MultiplyPlanner planner() {
    return opened().planner();
  }

  Availability<MultiplyPlan> plan(MultiplyProblem problem, long terms, Optional<MultiplyWay> way) {
    return plans.get(
        new Key(problem, terms, way),
        key ->
            key.way().isPresent()
                ? planner().plan(key.problem(), key.terms(), key.way().get())
                : planner().plan(key.problem(), key.terms()));
  }

  /**
   * The way to multiply problems like this one; empty where the planner's rule holds.
   *
   * @param timer runs a plan for the trial of a problem and gives the milliseconds that it took
   */
  Optional<MultiplyWay> choose(
      MultiplyProblem problem, long terms, ToDoubleFunction<MultiplyPlan> timer) {
    if (problem.batch().count() != 1 || !problem.readsOperands()) {
      return Optional.empty();
    }
    Optional<MultiplyPlan> planned = plan(problem, terms, Optional.empty()).thing();
    if (planned.isEmpty()) {
      return Optional.empty();
    }
    MultiplyPlan byRule = planned.get();
    MultiplyPlanner planner = planner();
    MultiplyTuner tuner = opened().tuner();
    MultiplyClass products = MultiplyClass.of(problem);
    Optional<MultiplyWay> way =
        tuner.isOpen(byRule)
            ? Optional.of(
                tuner.choose(
                    products,
                    planner.choices(byRule, MultiplyPlanner.trial(problem), terms),
                    timer))
            : tuner.find(products);
    return way.filter(chosen -> planner.keepsBits(byRule, terms, chosen));
  }

  /** Frees cuBLAS's handles. */
  @Override
  public synchronized void close() {
    if (opened != null) {
      opened.cublas().thing().ifPresent(Cublas::close);
    }
  }
}
