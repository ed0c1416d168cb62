package org.tilespark.kernels.multiply;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.launch.Availability;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.layout.ElementType;

/** Chooses how multiplies run on a device: pure functions of the problem. Immutable. */
public final class MultiplyPlanner {
  /** The family of the kernels of {@code multiply_tiled.cu}. */
  public static final String FAMILY = "multiply_tiled";

  /**
   * Minimum M*K*N for which cuBLAS is used if it is installed: below, a launch takes as long as the
   * work. This rule is for classes of problems that were not tuned ({@link
   * org.tilespark.kernels.tune.MultiplyTuner}).
   */
  static final double CUBLAS_PRODUCTS = 512.0 * 512 * 512;

  /**
   * Sums of fewer terms use cuBLAS only if it is asked for: for the required accuracy its chunks
   * would be so short that reading and writing C dominates.
   */
  static final long CUBLAS_LEAST_TERMS = 1024;

  /** Operations in one trial of a way: about a millisecond on an H200. */
  private static final double TRIAL_OPERATIONS = 0x1p35;

  /**
   * The least number of steps of K of a trial, so that it does not measure the overhead of a
   * launch.
   */
  private static final long LEAST_TRIAL_STEPS = 256;

  /** The family of the kernels of {@code add_tile.cu}. */
  private static final String ADDITION = "add_tile";

  /** Bytes that a thread of {@code add_tile} adds at a time. */
  private static final int ADDITION_BYTES = 16;

  /**
   * Thread blocks of {@code add_tile} per multiprocessor: enough threads, at least 2048, to hide
   * the latency of memory.
   */
  private static final int ADDITION_BLOCKS_PER_PROCESSOR = 16;

  /**
   * Bytes of workspace for cuBLAS that NVIDIA advises for sm_90 and later; the next constant is
   * that for older devices.
   */
  static final long CUBLAS_WORKSPACE_BYTES = 32L << 20;

  static final long CUBLAS_OLD_WORKSPACE_BYTES = 4L << 20;

  private final DeviceKernels device;
  private final Availability<?> cublas;
  private final MultiplyEngine engine;

  /**
   * A planner for one device.
   *
   * @param device the device's limits and the kernels of this jar
   * @param cublas availability of cuBLAS
   * @param engine the engine whose kernels multiply
   */
  public MultiplyPlanner(DeviceKernels device, Availability<?> cublas, MultiplyEngine engine) {
    this.device = device;
    this.cublas = cublas;
    this.engine = engine;
  }

  private MultiplyPlanner with(MultiplyEngine other) {
    return new MultiplyPlanner(device, cublas, other);
  }

  /**
   * The plan for a problem by rule, without measurements.
   *
   * @param problem the product
   * @param terms number of products that each element of C sums up in the end, {@code problem.k()}
   *     or more; it limits the length of chains of additions
   */
  public Availability<MultiplyPlan> plan(MultiplyProblem problem, long terms) {
    if (problem.keepsC()) {
      return Availability.of(
          new MultiplyPlan(problem, new MultiplyStrategy.Nothing(), Optional.empty()));
    }
    if (!problem.readsOperands()) { // C times beta, by our own kernel
      return own(problem.scaleOnly(), terms);
    }
    if (problem.precision() != Precision.FULL) {
      return rounded(problem, terms);
    }
    return switch (engine) {
      case OWN -> own(problem, terms);
      case CUBLAS ->
          cublas.isPresent()
              ? Availability.of(cublas(problem, terms))
              : Availability.not(
                  "Engine CUBLAS is asked for, but it is not there: " + cublas.whyNot());
      case AUTO ->
          cublas.isPresent()
                  && !TensorRule.isFaster(problem, terms, device)
                  && !SkinnyRule.isFaster(problem, device)
                  && ((MultiplyCost.products(problem) >= CUBLAS_PRODUCTS
                          && terms >= CUBLAS_LEAST_TERMS)
                      || kernels(problem).isEmpty())
              ? Availability.of(cublas(problem, terms))
              : own(problem, terms);
    };
  }

  /** The plan for a problem whose inputs must be rounded to a lower precision. */
  private Availability<MultiplyPlan> rounded(MultiplyProblem problem, long terms) {
    // cuBLAS truncates tf32 inputs, which must be rounded, and on an H200 it computes FLOAT16 and
    // BFLOAT16 in tf32 too.
    if (engine != MultiplyEngine.CUBLAS) {
      Optional<MultiplyPlan> tensor = TensorRule.best(problem, terms, device);
      Optional<MultiplyPlan> ours =
          tensor.filter(TensorRule::streamsA).isPresent()
              ? tensor
              : SkinnyRule.of(problem, device)
                  .map(skinny -> skinny(problem, skinny))
                  .or(() -> tensor);
      if (ours.isPresent()) {
        return Availability.of(ours.get());
      }
    }
    if (engine != MultiplyEngine.OWN && cublas.isPresent()) {
      return Availability.of(cublas(problem, terms));
    }
    return Availability.not(
        "Precision %s%s needs cuBLAS, %s; ask for precision FULL, or install cuBLAS"
            .formatted(
                problem.precision(),
                TensorPlans.kernels(problem, device).isEmpty()
                    ? " on " + device.limits().architecture()
                    : " of operands as large as these",
                engine == MultiplyEngine.OWN
                    ? "which is ruled out by engine OWN"
                    : "which is not there: " + cublas.whyNot()));
  }

  /**
   * The plans to time: {@link #candidates} without cuBLAS where it is not exact enough, and without
   * kernels for older devices where the device has its own. If the engine is fixed, strategies with
   * another summation order than the rule's are excluded too, so that all machines give the same
   * bits.
   *
   * @param byRule the result of {@link #plan}, which is the first choice
   * @param trial the problem of the trials
   */
  public List<MultiplyPlan> choices(MultiplyPlan byRule, MultiplyProblem trial, long terms) {
    List<MultiplyPlan> candidates = candidates(trial, terms);
    boolean hasWarpgroups = candidates.stream().anyMatch(way -> TensorRule.isTensor(way, false));
    List<MultiplyPlan> choices = new ArrayList<>();
    for (MultiplyPlan way : candidates) {
      if (way.strategy().way().equals(byRule.strategy().way())) {
        choices.add(0, way);
      } else if (engine == MultiplyEngine.AUTO
          ? isExact(way, terms) && !(hasWarpgroups && TensorRule.isTensor(way, true))
          : way.strategy().order().equals(byRule.strategy().order())) {
        choices.add(way);
      }
    }
    return choices;
  }

  /**
   * True if a plan is exact enough; false for cuBLAS if the sums are too short for its accuracy, or
   * inputs must be rounded.
   */
  private static boolean isExact(MultiplyPlan way, long terms) {
    return !(way.strategy() instanceof MultiplyStrategy.Cublas)
        || (way.problem().precision() == Precision.FULL && terms >= CUBLAS_LEAST_TERMS);
  }

  /**
   * False if the engine is fixed (same bits everywhere) and {@code way} would sum this problem in
   * another order than the rule does.
   *
   * @param way one of {@link #candidates} of a problem like this
   */
  public boolean keepsBits(MultiplyPlan byRule, long terms, MultiplyWay way) {
    return engine == MultiplyEngine.AUTO
        || plan(byRule.problem(), terms, way)
            .thing()
            .filter(plan -> plan.strategy().order().equals(byRule.strategy().order()))
            .isPresent();
  }

  /**
   * The plan by a way that was measured for the problem's class. If the way does not apply (its
   * kernel is not in this jar, or nothing is multiplied), the rule decides, with the way's engine.
   *
   * @param way one of {@link #candidates} of a problem like this
   */
  public Availability<MultiplyPlan> plan(MultiplyProblem problem, long terms, MultiplyWay way) {
    if (way.isCublas()) {
      return with(MultiplyEngine.CUBLAS).plan(problem, terms);
    }
    Availability<MultiplyPlan> byRule = with(MultiplyEngine.OWN).plan(problem, terms);
    if (!byRule.isPresent()) { // rounded operands are too large to pack
      return with(MultiplyEngine.AUTO).plan(problem, terms);
    }
    return owns(byRule.get().problem(), terms).stream()
        .filter(own -> own.strategy().way().equals(Optional.of(way)))
        .findFirst()
        .map(Availability::of)
        .orElse(byRule);
  }

  /**
   * All plans for a problem on this device, for tests, benchmarks and tuning, whatever the engine.
   * The list is empty if C is empty or does not change. If A and B do not contribute to C, these
   * plans only scale C.
   *
   * @param terms as in {@link #plan}
   */
  public List<MultiplyPlan> candidates(MultiplyProblem problem, long terms) {
    List<MultiplyPlan> all = owns(problem, terms);
    if (cublas.isPresent() && !problem.keepsC() && problem.readsOperands()) {
      all.add(cublas(problem, terms));
    }
    return all;
  }

  private List<MultiplyPlan> owns(MultiplyProblem problem, long terms) {
    List<MultiplyPlan> all = new ArrayList<>();
    if (problem.keepsC()) {
      return all;
    }
    MultiplyProblem done = problem.readsOperands() ? problem : problem.scaleOnly();
    if (done.precision() == Precision.FULL) {
      for (KernelIndex.Kernel kernel : kernels(done)) {
        all.add(tiled(done, kernel));
      }
    }
    if (problem.readsOperands()) {
      SkinnySteps.of(problem, device).ifPresent(skinny -> all.add(skinny(problem, skinny)));
      all.addAll(TensorPlans.of(problem, terms, device));
    }
    return all;
  }

  /**
   * Bytes of device memory that a plan of a {@link #lowMemoryWay} may use in addition to the
   * operands.
   */
  public long mostWorkspaceBytes() {
    return cublas.isPresent() ? cublasWorkspaceBytes() : 0;
  }

  /**
   * Bytes of device memory that any plan for this problem, or for one of smaller extents or fewer
   * products, may use in addition to the operands.
   */
  public long mostWorkspaceBytes(MultiplyProblem problem) {
    return Math.max(
        mostWorkspaceBytes(),
        Math.max(
            SkinnySteps.mostWorkspaceBytes(problem, device),
            TensorPlans.mostWorkspaceBytes(problem, device)));
  }

  /**
   * The rule's way among those without packed operands and partial sums, for when memory is too
   * small for these; empty if there is none.
   *
   * @param terms as in {@link #plan}
   */
  public Optional<MultiplyWay> lowMemoryWay(MultiplyProblem problem, long terms) {
    Optional<MultiplyWay> byRule =
        plan(problem, terms)
            .thing()
            .map(MultiplyPlan::strategy)
            .filter(
                strategy ->
                    !(strategy instanceof MultiplyStrategy.Tensor)
                        && !(strategy instanceof MultiplyStrategy.Skinny))
            .flatMap(MultiplyStrategy::way);
    if (byRule.isPresent()) {
      return byRule;
    }
    return engine != MultiplyEngine.OWN
            && cublas.isPresent()
            && (terms >= CUBLAS_LEAST_TERMS || problem.precision() != Precision.FULL)
        ? Optional.of(MultiplyWay.CUBLAS)
        : bestTiled(problem)
            .filter(kernel -> problem.precision() == Precision.FULL)
            .map(kernel -> new MultiplyWay(kernel.name()));
  }

  /**
   * A part of a problem that is large enough to compare the ways: all of C, and as much of K as
   * takes a few milliseconds. A, B and C are stored as in the whole problem.
   */
  public static MultiplyProblem trial(MultiplyProblem problem) {
    double perStep =
        2.0 * problem.batch().count() * Math.max(1, problem.m()) * Math.max(1, problem.n());
    long enough = Math.max(LEAST_TRIAL_STEPS, (long) (TRIAL_OPERATIONS / perStep));
    long k = Math.min(problem.k(), enough / LEAST_TRIAL_STEPS * LEAST_TRIAL_STEPS);
    return problem.withK(k);
  }

  /**
   * The launch that adds a tile of partial sums to a tile of totals and clears the partial sums:
   * {@code add_tile.cu}.
   *
   * @param elements elements of either tile, at least one
   * @throws UnsupportedOperationException if this jar has no kernel of this kind for the device
   */
  public static KernelLaunch addition(ElementType type, long elements, DeviceKernels device) {
    DeviceLimits limits = device.limits();
    KernelIndex.Kernel kernel =
        device
            .find(ADDITION, type.bytes())
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "This jar has no kernel that adds tiles of %s on %s"
                            .formatted(type, limits.architecture())));
    int threads = kernel.shape().threads();
    long inFlight = (long) threads * (ADDITION_BYTES / type.bytes());
    long pieces =
        Math.min(
            (elements + inFlight - 1) / inFlight,
            (long) ADDITION_BLOCKS_PER_PROCESSOR * limits.multiprocessors());
    // Fields of AddArguments after the two pointers.
    return new KernelLaunch(
        kernel.name(), LaunchConfig.forPieces(pieces, threads, 0, limits), elements);
  }

  private List<KernelIndex.Kernel> kernels(MultiplyProblem problem) {
    return device.findAll(FAMILY, problem.type().bytes());
  }

  private Optional<KernelIndex.Kernel> bestTiled(MultiplyProblem problem) {
    return kernels(problem).stream()
        .min(
            Comparator.comparingDouble(
                kernel -> MultiplyCost.cost(problem, kernel, device.limits())));
  }

  private static MultiplyPlan skinny(MultiplyProblem problem, MultiplyStrategy.Skinny strategy) {
    return new MultiplyPlan(problem, strategy, Optional.empty());
  }

  private Availability<MultiplyPlan> own(MultiplyProblem problem, long terms) {
    return Availability.of(
        TensorRule.of(problem, terms, device)
            .or(() -> SkinnyRule.of(problem, device).map(skinny -> skinny(problem, skinny)))
            .or(() -> bestTiled(problem).map(kernel -> tiled(problem, kernel))),
        () ->
            "This jar has no kernel that multiplies %s on %s"
                .formatted(problem.type(), device.limits().architecture()));
  }

  private MultiplyPlan tiled(MultiplyProblem problem, KernelIndex.Kernel kernel) {
    MultiplyStrategy.Tiled strategy =
        new MultiplyStrategy.Tiled(
            kernel.name(), kernel.shape(), MultiplyStrategy.Tiled.chunk(problem.k()));
    return new MultiplyPlan(
        problem, strategy, Optional.of(strategy.launch(problem, device.limits())));
  }

  private MultiplyPlan cublas(MultiplyProblem problem, long terms) {
    MultiplyStrategy strategy =
        new MultiplyStrategy.Cublas(
            problem.precision(),
            MultiplyStrategy.Cublas.chunk(problem.precision(), Math.max(terms, problem.k())),
            cublasWorkspaceBytes());
    return new MultiplyPlan(problem, strategy, Optional.empty());
  }

  private long cublasWorkspaceBytes() {
    return device.limits().computeMajor() >= 9
        ? CUBLAS_WORKSPACE_BYTES
        : CUBLAS_OLD_WORKSPACE_BYTES;
  }
}
