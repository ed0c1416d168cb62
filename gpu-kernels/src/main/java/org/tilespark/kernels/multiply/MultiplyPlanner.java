package org.tilespark.kernels.multiply;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.kernels.launch.KernelLaunch;
import org.tilespark.kernels.launch.LaunchConfig;
import org.tilespark.layout.ElementType;

/** Chooses how a multiply runs on a device: pure functions of the problem and the device. */
public final class MultiplyPlanner {
  /** Kernels of {@code multiply_tiled.cu}. */
  public static final String FAMILY = "multiply_tiled";

  /**
   * Products from which cuBLAS is taken where it is there: below, a launch takes as long as the
   * work. The rule for classes of problems that were not tuned ({@link
   * org.tilespark.kernels.tune.MultiplyTuner}).
   */
  static final double CUBLAS_PRODUCTS = 512.0 * 512 * 512;

  /**
   * Sums of fewer terms are not left to cuBLAS unless it is asked for: its chunks would have to be
   * so short that C is read and written all the time.
   */
  static final long CUBLAS_LEAST_TERMS = 1024;

  /** What the trials of one way compute: about a millisecond of an H200. */
  private static final double TRIAL_OPERATIONS = 0x1p35;

  /** Trials are at least as deep, so that starting a launch is not what is measured. */
  private static final long LEAST_TRIAL_STEPS = 256;

  /** Kernels of {@code add_tile.cu}. */
  private static final String ADDITION = "add_tile";

  /** What a thread of it adds at a time. */
  private static final int ADDITION_BYTES = 16;

  /** Enough threads in flight to hide the time of an access, from 2048 a multiprocessor on. */
  private static final int ADDITION_BLOCKS_PER_PROCESSOR = 16;

  /** What NVIDIA advises for sm_90 and later, and for those before. */
  static final long CUBLAS_WORKSPACE_BYTES = 32L << 20;

  static final long CUBLAS_OLD_WORKSPACE_BYTES = 4L << 20;

  /**
   * What the planner knows of cuBLAS.
   *
   * @param absence why it is not there; empty if it is
   */
  public record CublasPresence(Optional<String> absence) {
    /** It can be used. */
    public static final CublasPresence PRESENT = new CublasPresence(Optional.empty());

    /** It cannot be used, for a reason. */
    public static CublasPresence absent(String reason) {
      return new CublasPresence(Optional.of(reason));
    }

    boolean isPresent() {
      return absence.isEmpty();
    }
  }

  private MultiplyPlanner() {}

  /**
   * The plan for a problem by rule, where nothing was measured.
   *
   * @param problem what is asked
   * @param terms products that each element of C is the sum of in the end, {@code problem.k()} or
   *     more: it decides how long chains of additions may be
   * @param engine whose kernels may do it
   * @param cublas whether cuBLAS is there
   * @param limits the device
   * @param index the kernels of this jar
   */
  public static MultiplyDecision plan(
      MultiplyProblem problem,
      long terms,
      MultiplyEngine engine,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    if (problem.keepsC()) {
      return new MultiplyPlan(problem, new MultiplyStrategy.Nothing(), Optional.empty());
    }
    if (!problem.readsOperands()) { // C times beta, which an own kernel makes
      return own(problem.scaleOnly(), terms, limits, index);
    }
    if (problem.precision() != Precision.FULL) {
      return rounded(problem, terms, engine, cublas, limits, index);
    }
    return switch (engine) {
      case OWN -> own(problem, terms, limits, index);
      case CUBLAS ->
          cublas.isPresent()
              ? cublas(problem, terms, limits)
              : new MultiplyDecision.Unsupported(
                  "Engine CUBLAS is asked for, but it is not there: "
                      + cublas.absence().orElseThrow());
      case AUTO ->
          cublas.isPresent()
                  && !TensorRule.isFaster(problem, terms, limits, index)
                  && !SkinnyRule.isFaster(problem, limits, index)
                  && ((MultiplyCost.products(problem) >= CUBLAS_PRODUCTS
                          && terms >= CUBLAS_LEAST_TERMS)
                      || kernels(problem, limits, index).isEmpty())
              ? cublas(problem, terms, limits)
              : own(problem, terms, limits, index);
    };
  }

  /** A problem whose inputs are to be rounded. */
  private static MultiplyDecision rounded(
      MultiplyProblem problem,
      long terms,
      MultiplyEngine engine,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    // cuBLAS cuts inputs of tf32 off where they are to be rounded, and on an H200 takes tf32 for
    // FLOAT16 and BFLOAT16 too.
    if (engine != MultiplyEngine.CUBLAS) {
      Optional<MultiplyPlan> tensor = TensorRule.best(problem, terms, limits, index);
      Optional<MultiplyPlan> ours =
          tensor.filter(TensorRule::streamsA).isPresent()
              ? tensor
              : SkinnyRule.of(problem, limits, index)
                  .map(skinny -> skinny(problem, skinny))
                  .or(() -> tensor);
      if (ours.isPresent()) {
        return ours.get();
      }
    }
    if (engine != MultiplyEngine.OWN && cublas.isPresent()) {
      return cublas(problem, terms, limits);
    }
    return new MultiplyDecision.Unsupported(
        "Precision "
            + problem.precision()
            + (TensorPlans.kernels(TensorForm.of(problem), problem, limits, index).isEmpty()
                ? " on " + limits.architecture()
                : " of operands as large as these")
            + " needs cuBLAS, "
            + (engine == MultiplyEngine.OWN
                ? "which is ruled out by engine OWN"
                : "which is not there: " + cublas.absence().orElseThrow())
            + "; ask for precision FULL, or install cuBLAS");
  }

  /**
   * The plans to time: {@link #candidates} without cuBLAS where it is not exact enough, and without
   * kernels for older devices where the device has its own. If the engine is fixed, strategies with
   * another summation order than the rule's are excluded too, so that all machines give the same
   * bits.
   *
   * @param byRule what {@link #plan} says, which is the first of them
   * @param trial what they are tried on
   * @param engine whose kernels may do it
   */
  public static List<MultiplyPlan> choices(
      MultiplyPlan byRule,
      MultiplyProblem trial,
      long terms,
      MultiplyEngine engine,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    List<MultiplyPlan> candidates = candidates(trial, terms, cublas, limits, index);
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

  /** False for cuBLAS if the sums are too short for its accuracy, or inputs must be rounded. */
  private static boolean isExact(MultiplyPlan way, long terms) {
    return !(way.strategy() instanceof MultiplyStrategy.Cublas)
        || (way.problem().precision() == Precision.FULL && terms >= CUBLAS_LEAST_TERMS);
  }

  /**
   * False if the engine is fixed (same bits everywhere) and {@code way} would sum this problem in
   * another order than the rule does.
   *
   * @param way one of {@link #candidates} of such a problem
   */
  public static boolean keepsBits(
      MultiplyPlan byRule,
      long terms,
      MultiplyWay way,
      MultiplyEngine engine,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    return engine == MultiplyEngine.AUTO
        || (plan(byRule.problem(), terms, way, cublas, limits, index) instanceof MultiplyPlan plan
            && plan.strategy().order().equals(byRule.strategy().order()));
  }

  /**
   * The plan by a way that was measured for the problem's class. If the way does not apply (its
   * kernel is not in this jar, or nothing is multiplied), the rule decides, with the way's engine.
   *
   * @param way one of {@link #candidates} of such a problem
   */
  public static MultiplyDecision plan(
      MultiplyProblem problem,
      long terms,
      MultiplyWay way,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    MultiplyDecision byRule =
        plan(
            problem,
            terms,
            way.isCublas() ? MultiplyEngine.CUBLAS : MultiplyEngine.OWN,
            cublas,
            limits,
            index);
    if (way.isCublas()) {
      return byRule;
    }
    if (!(byRule instanceof MultiplyPlan plan)) { // rounded operands that are too large to pack
      return plan(problem, terms, MultiplyEngine.AUTO, cublas, limits, index);
    }
    return owns(plan, terms, limits, index).stream()
        .filter(own -> own.strategy().way().equals(Optional.of(way)))
        .findFirst()
        .orElse(plan);
  }

  /** All own ways to do what {@code byRule} does. */
  private static List<MultiplyPlan> owns(
      MultiplyPlan byRule, long terms, DeviceLimits limits, KernelIndex index) {
    return candidates(
        byRule.problem(), terms, CublasPresence.absent("not asked for"), limits, index);
  }

  /**
   * Every way to do it on this device, for tests, for benchmarks and for tuning; none where C stays
   * as it is, or is empty. Where A and B have no share in C, the ways to scale it.
   *
   * @param terms as in {@link #plan}
   */
  public static List<MultiplyPlan> candidates(
      MultiplyProblem problem,
      long terms,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    List<MultiplyPlan> all = new ArrayList<>();
    if (problem.keepsC()) {
      return all;
    }
    if (!problem.readsOperands()) {
      MultiplyProblem scaled = problem.scaleOnly();
      for (KernelIndex.Kernel kernel : kernels(scaled, limits, index)) {
        all.add(tiled(scaled, kernel, limits));
      }
      return all;
    }
    if (problem.precision() == Precision.FULL) {
      for (KernelIndex.Kernel kernel : kernels(problem, limits, index)) {
        all.add(tiled(problem, kernel, limits));
      }
    }
    SkinnySteps.of(problem, limits, index).ifPresent(skinny -> all.add(skinny(problem, skinny)));
    all.addAll(TensorPlans.of(problem, terms, limits, index));
    if (cublas.isPresent()) {
      all.add(cublas(problem, terms, limits));
    }
    return all;
  }

  /** Device memory that a plan of a {@link #lowMemoryWay} may use beside the operands. */
  public static long mostWorkspaceBytes(CublasPresence cublas, DeviceLimits limits) {
    return cublas.isPresent() ? cublasWorkspaceBytes(limits) : 0;
  }

  /**
   * Device memory that any plan may use beside the operands, of this problem or of one of smaller
   * extents or of fewer products.
   */
  public static long mostWorkspaceBytes(
      MultiplyProblem problem, CublasPresence cublas, DeviceLimits limits, KernelIndex index) {
    return Math.max(
        mostWorkspaceBytes(cublas, limits),
        Math.max(
            SkinnySteps.mostWorkspaceBytes(problem, limits, index),
            TensorPlans.mostWorkspaceBytes(problem, limits, index)));
  }

  /**
   * The rule's way when memory is too small to pack operands or to hold partial sums; empty if
   * there is none.
   *
   * @param terms as in {@link #plan}
   */
  public static Optional<MultiplyWay> lowMemoryWay(
      MultiplyProblem problem,
      long terms,
      MultiplyEngine engine,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    Optional<MultiplyWay> byRule =
        plan(problem, terms, engine, cublas, limits, index) instanceof MultiplyPlan plan
                && !(plan.strategy() instanceof MultiplyStrategy.Tensor)
                && !(plan.strategy() instanceof MultiplyStrategy.Skinny)
            ? plan.strategy().way()
            : Optional.empty();
    if (byRule.isPresent()) {
      return byRule;
    }
    return engine != MultiplyEngine.OWN
            && cublas.isPresent()
            && (terms >= CUBLAS_LEAST_TERMS || problem.precision() != Precision.FULL)
        ? Optional.of(MultiplyWay.CUBLAS)
        : kernels(problem, limits, index).stream()
            .min(Comparator.comparingDouble(kernel -> MultiplyCost.cost(problem, kernel, limits)))
            .filter(kernel -> problem.precision() == Precision.FULL)
            .map(kernel -> new MultiplyWay(kernel.name()));
  }

  /**
   * A part of a problem that is enough to compare the ways: all of C, and no more of K than takes a
   * few milliseconds. A, B and C lie where they lie in the whole.
   */
  public static MultiplyProblem trial(MultiplyProblem problem) {
    double perStep =
        2.0 * problem.batch().count() * Math.max(1, problem.m()) * Math.max(1, problem.n());
    long enough = Math.max(LEAST_TRIAL_STEPS, (long) (TRIAL_OPERATIONS / perStep));
    long k = Math.min(problem.k(), enough / LEAST_TRIAL_STEPS * LEAST_TRIAL_STEPS);
    return problem.withK(k);
  }

  /**
   * The launch that adds a tile of partial sums to one of totals and clears the first: {@code
   * add_tile.cu}.
   *
   * @param elements of either tile, at least one
   * @throws UnsupportedOperationException if this jar has no such kernel for the device
   */
  public static KernelLaunch addition(
      ElementType type, long elements, DeviceLimits limits, KernelIndex index) {
    KernelIndex.Kernel kernel =
        index
            .find(ADDITION, type.bytes(), limits)
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "This jar has no kernel that adds tiles of "
                            + type
                            + " on "
                            + limits.architecture()));
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

  private static List<KernelIndex.Kernel> kernels(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    return index.findAll(FAMILY, problem.type().bytes(), limits);
  }

  private static MultiplyPlan skinny(MultiplyProblem problem, MultiplyStrategy.Skinny strategy) {
    return new MultiplyPlan(problem, strategy, Optional.empty());
  }

  private static MultiplyDecision own(
      MultiplyProblem problem, long terms, DeviceLimits limits, KernelIndex index) {
    Optional<MultiplyPlan> tensor = TensorRule.of(problem, terms, limits, index);
    if (tensor.isPresent()) {
      return tensor.get();
    }
    Optional<MultiplyStrategy.Skinny> skinny = SkinnyRule.of(problem, limits, index);
    if (skinny.isPresent()) {
      return skinny(problem, skinny.get());
    }
    return kernels(problem, limits, index).stream()
        .min(Comparator.comparingDouble(kernel -> MultiplyCost.cost(problem, kernel, limits)))
        .<MultiplyDecision>map(kernel -> tiled(problem, kernel, limits))
        .orElseGet(
            () ->
                new MultiplyDecision.Unsupported(
                    "This jar has no kernel that multiplies "
                        + problem.type()
                        + " on "
                        + limits.architecture()));
  }

  private static MultiplyPlan tiled(
      MultiplyProblem problem, KernelIndex.Kernel kernel, DeviceLimits limits) {
    MultiplyStrategy.Tiled strategy =
        new MultiplyStrategy.Tiled(
            kernel.name(), kernel.shape(), MultiplyStrategy.Tiled.chunk(problem.k()));
    return new MultiplyPlan(problem, strategy, Optional.of(strategy.launch(problem, limits)));
  }

  private static MultiplyPlan cublas(MultiplyProblem problem, long terms, DeviceLimits limits) {
    MultiplyStrategy strategy =
        new MultiplyStrategy.Cublas(
            problem.precision(),
            MultiplyStrategy.Cublas.chunk(problem.precision(), Math.max(terms, problem.k())),
            cublasWorkspaceBytes(limits));
    return new MultiplyPlan(problem, strategy, Optional.empty());
  }

  private static long cublasWorkspaceBytes(DeviceLimits limits) {
    return limits.computeMajor() >= 9 ? CUBLAS_WORKSPACE_BYTES : CUBLAS_OLD_WORKSPACE_BYTES;
  }
}
