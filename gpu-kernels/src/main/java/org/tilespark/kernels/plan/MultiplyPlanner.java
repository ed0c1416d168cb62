package org.tilespark.kernels.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.tilespark.layout.ElementType;

/** Chooses how a multiply runs on a device: pure functions of the problem and the device. */
public final class MultiplyPlanner {
  /** Kernels of {@code multiply_tiled.cu}. */
  public static final String FAMILY = "multiply_tiled";

  /**
   * Products from which cuBLAS is taken where it is there: below, a launch takes as long as the
   * work. The rule for classes of problems that were not tuned ({@link
   * org.tilespark.kernels.tune.ProductTuner}).
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
    if (problem.m() == 0 || problem.n() == 0 || (problem.k() == 0 && problem.accumulate())) {
      return new MultiplyPlan(problem, new MultiplyStrategy.Nothing(), Optional.empty());
    }
    if (problem.k() == 0) { // zeros, which an own kernel writes
      return own(withFullPrecision(problem), limits, index);
    }
    if (problem.precision() != Precision.FULL) {
      if (engine != MultiplyEngine.OWN && cublas.isPresent()) {
        return cublas(problem, terms, limits);
      }
      return new MultiplyDecision.Unsupported(
          "Precision "
              + problem.precision()
              + " on a GPU needs cuBLAS, "
              + (engine == MultiplyEngine.OWN
                  ? "which is ruled out by engine OWN"
                  : "which is not there: " + cublas.absence().orElseThrow())
              + "; ask for precision FULL, or install cuBLAS");
    }
    return switch (engine) {
      case OWN -> own(problem, limits, index);
      case CUBLAS ->
          cublas.isPresent()
              ? cublas(problem, terms, limits)
              : new MultiplyDecision.Unsupported(
                  "Engine CUBLAS is asked for, but it is not there: "
                      + cublas.absence().orElseThrow());
      case AUTO ->
          cublas.isPresent()
                  && ((products(problem) >= CUBLAS_PRODUCTS && terms >= CUBLAS_LEAST_TERMS)
                      || kernels(problem, limits, index).isEmpty())
              ? cublas(problem, terms, limits)
              : own(problem, limits, index);
    };
  }

  /**
   * The ways among which to choose by trying, for problems of full precision: {@link #candidates},
   * less cuBLAS where sums are too short for it to be as exact as it must be.
   *
   * @param byRule what {@link #plan} says, which is the first of them
   * @param trial what they are tried on
   */
  public static List<MultiplyPlan> choices(
      MultiplyPlan byRule,
      MultiplyProblem trial,
      long terms,
      CublasPresence cublas,
      DeviceLimits limits,
      KernelIndex index) {
    List<MultiplyPlan> choices = new ArrayList<>();
    for (MultiplyPlan way : candidates(trial, terms, cublas, limits, index)) {
      if (way.strategy().way().equals(byRule.strategy().way())) {
        choices.add(0, way);
      } else if (terms >= CUBLAS_LEAST_TERMS || way.launch().isPresent()) {
        choices.add(way);
      }
    }
    return choices;
  }

  /**
   * The plan for a problem by a way that was chosen for the likes of it. What that way cannot do is
   * planned by rule, with its engine: a kernel that this jar has no more, or nothing to multiply.
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
    return byRule instanceof MultiplyPlan plan && plan.launch().isPresent()
        ? kernels(plan.problem(), limits, index).stream()
            .filter(kernel -> kernel.name().equals(way.name()))
            .findFirst()
            .map(kernel -> tiled(plan.problem(), kernel, limits))
            .orElse(plan)
        : byRule;
  }

  /**
   * Every way to do it on this device, for tests, for benchmarks and for tuning; empty where there
   * is nothing to multiply.
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
    if (problem.m() == 0 || problem.n() == 0) {
      return all;
    }
    if (problem.precision() == Precision.FULL) {
      for (KernelIndex.Kernel kernel : kernels(problem, limits, index)) {
        all.add(tiled(problem, kernel, limits));
      }
    }
    if (cublas.isPresent() && problem.k() > 0) {
      all.add(cublas(problem, terms, limits));
    }
    return all;
  }

  /** Device memory that any plan here may use beside the operands. */
  public static long mostWorkspaceBytes(CublasPresence cublas, DeviceLimits limits) {
    return cublas.isPresent() ? cublasWorkspaceBytes(limits) : 0;
  }

  /**
   * A part of a problem that is enough to compare the ways: all of C, and no more of K than takes a
   * few milliseconds. A, B and C lie where they lie in the whole.
   */
  public static MultiplyProblem trial(MultiplyProblem problem) {
    double perStep = 2.0 * Math.max(1, problem.m()) * Math.max(1, problem.n());
    long enough = Math.max(LEAST_TRIAL_STEPS, (long) (TRIAL_OPERATIONS / perStep));
    long k = Math.min(problem.k(), enough / LEAST_TRIAL_STEPS * LEAST_TRIAL_STEPS);
    return new MultiplyProblem(
        problem.m(),
        k,
        problem.n(),
        problem.type(),
        problem.precision(),
        problem.transposeA(),
        problem.transposeB(),
        problem.leadA(),
        problem.leadB(),
        problem.leadC(),
        problem.accumulate());
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

  private static MultiplyDecision own(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    return kernels(problem, limits, index).stream()
        .min(Comparator.comparingDouble(kernel -> cost(problem, kernel.shape(), limits)))
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

  /**
   * Time in arbitrary units: the multiprocessor with the most tiles decides, and a smaller tile
   * reads each operand more often for the same products, here taken as 16 columns of work more.
   */
  private static double cost(
      MultiplyProblem problem, KernelIndex.TileShape shape, DeviceLimits limits) {
    long tiles = MultiplyStrategy.Tiled.tiles(problem, shape);
    double turns = Math.ceil((double) tiles / limits.multiprocessors());
    return turns * (shape.rows() + 16.0) * (shape.cols() + 16.0);
  }

  private static double products(MultiplyProblem problem) {
    return (double) problem.m() * problem.k() * problem.n();
  }

  private static MultiplyProblem withFullPrecision(MultiplyProblem problem) {
    return new MultiplyProblem(
        problem.m(),
        problem.k(),
        problem.n(),
        problem.type(),
        Precision.FULL,
        problem.transposeA(),
        problem.transposeB(),
        problem.leadA(),
        problem.leadB(),
        problem.leadC(),
        problem.accumulate());
  }
}
