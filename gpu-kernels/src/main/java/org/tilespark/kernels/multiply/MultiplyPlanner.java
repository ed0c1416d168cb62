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
   * org.tilespark.kernels.tune.ProductTuner}).
   */
  static final double CUBLAS_PRODUCTS = 512.0 * 512 * 512;

  /**
   * Sums of fewer terms are not left to cuBLAS unless it is asked for: its chunks would have to be
   * so short that C is read and written all the time.
   */
  static final long CUBLAS_LEAST_TERMS = 1024;

  /**
   * Products from which operands are packed for the tensor cores by rule: below, packing takes as
   * long as the work.
   */
  static final double TENSOR_PRODUCTS = 512.0 * 512 * 512;

  /** The same of doubles, if cuBLAS is there. */
  private static final double LARGE_PRODUCTS = 1024.0 * 1024 * 1024;

  /** Extents from which it is worth it: a tile of fewer rows or columns is mostly empty. */
  private static final long TENSOR_EXTENT = 64;

  /** By rule tiles of 128 x 128 must be as many as this part of the multiprocessors. */
  private static final int TENSOR_IDLE_PROCESSORS = 4;

  private static final int TENSOR_TILE = 128;

  /** Steps of K from which a part of a product that is cut along K counts by rule as a tile. */
  private static final long TENSOR_PART = 256;

  /**
   * Elements of the largest matrix from which a product with a small extent is the skinny kernels':
   * below, a launch takes as long as the work, and a tiled one is one launch.
   */
  static final double SKINNY_ELEMENTS = 256.0 * 256;

  /**
   * The same of lower precisions, whose tiles are the tensor cores': 300 x 300 x 5 took 1.2 to 1.6
   * times as long by the skinny kernel, 500 x 500 x 8 0.7 times, on an H200.
   */
  private static final double NARROW_ELEMENTS = 448.0 * 448;

  /**
   * The same of each product of a batch: the skinny kernels take one launch for each, a tiled one
   * takes one for all. About what goes by in the time of a launch, estimated.
   */
  static final double SKINNY_BATCH_ELEMENTS = 2048.0 * 1024;

  /**
   * Columns of doubles, or rows, up to which these are about as fast as cuBLAS in one call or
   * faster (docs/benchmarks-kernels.md); of floats they are up to all 16.
   */
  private static final long SKINNY_DOUBLES = 8;

  /** Columns of floats up to which the skinny kernels for an A along K are the fastest of ours. */
  private static final int SKINNY_COLS = 8;

  /**
   * Elements of such an A from which, for more columns, the tensor cores' kernel is faster: 0.39 to
   * 0.98 times as long from 2000 x 2000 on, 1.1 times at 1000 x 1000, on an H200.
   */
  private static final double WIDE_ELEMENTS = 1024.0 * 2048;

  /** Rows of an A along K from which packing B is no large part of the time. */
  private static final long WIDE_ROWS = 1024;

  /** A way that no memory is reserved for by rule takes no more of it. */
  private static final long MOST_WIDE_BYTES = 1L << 30;

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
    if (!problem.isProduct()) { // C times beta, which an own kernel makes
      return own(problem.withoutProduct(), terms, limits, index);
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
                  && !isOursFaster(problem, terms, limits, index)
                  && !isSkinnyFaster(problem, limits, index)
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
      Optional<MultiplyPlan> tensor = best(TensorPlans.of(problem, terms, limits, index), limits);
      Optional<MultiplyPlan> ours =
          tensor.filter(MultiplyPlanner::isReadOnce).isPresent()
              ? tensor
              : skinnyByRule(problem, limits, index)
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
   * The ways among which to choose by trying: {@link #candidates}, less cuBLAS where it would not
   * be as exact as it must be, less kernels for older devices where the device has its own, and
   * less those that give other bits than the rule's where the engine is named so that bits are the
   * same everywhere.
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
    boolean hasWarpgroups = candidates.stream().anyMatch(way -> isTensor(way, false));
    List<MultiplyPlan> choices = new ArrayList<>();
    for (MultiplyPlan way : candidates) {
      if (way.strategy().way().equals(byRule.strategy().way())) {
        choices.add(0, way);
      } else if (engine == MultiplyEngine.AUTO
          ? isExact(way, terms) && !(hasWarpgroups && isTensor(way, true))
          : way.strategy().order().equals(byRule.strategy().order())) {
        choices.add(way);
      }
    }
    return choices;
  }

  /** False of cuBLAS where its sums are too short to be as exact, or inputs are to be rounded. */
  private static boolean isExact(MultiplyPlan way, long terms) {
    return !(way.strategy() instanceof MultiplyStrategy.Cublas)
        || (way.problem().precision() == Precision.FULL && terms >= CUBLAS_LEAST_TERMS);
  }

  /** True of a way on the tensor cores by {@code mma.sync}, or by what newer devices have. */
  private static boolean isTensor(MultiplyPlan way, boolean isMma) {
    return way.strategy() instanceof MultiplyStrategy.Tensor tensor && tensor.isMma() == isMma;
  }

  /**
   * False if the engine is named, so that bits are the same everywhere, and a way that was chosen
   * for another problem of the class sums this one in another order than the rule's.
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
    if (!problem.isProduct()) {
      MultiplyProblem scaled = problem.withoutProduct();
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

  /** Device memory that a plan of a {@link #frugalWay} may use beside the operands. */
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
   * The way by rule where there is no memory to pack operands into, or for parts of sums; empty
   * where there is none.
   *
   * @param terms as in {@link #plan}
   */
  public static Optional<MultiplyWay> frugalWay(
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
        problem.factors(),
        problem.batch());
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

  /** True if the problem keeps the tensor cores busy enough for operands to be packed. */
  private static boolean isTensorSize(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    double each =
        Math.ceil((double) problem.m() / TENSOR_TILE)
            * Math.ceil((double) problem.n() / TENSOR_TILE);
    long parts =
        TensorPlans.summing(problem, limits, index).isEmpty()
            ? 1
            : Math.min(
                problem.k() / TENSOR_PART,
                PartsOfK.parts(TensorForm.of(problem), problem, limits.multiprocessors()));
    double tiles = each * Math.max(problem.batch().count(), parts);
    return MultiplyCost.products(problem) >= TENSOR_PRODUCTS
        && Math.min(problem.m(), Math.min(problem.k(), problem.n())) >= TENSOR_EXTENT
        && tiles * TENSOR_IDLE_PROCESSORS >= limits.multiprocessors();
  }

  /**
   * True if our kernels are expected to be faster than cuBLAS, which is to be as exact as they are.
   * Those for float are, or hardly slower; large products of doubles took 0.95 to 1.03 times as
   * long, on an H200, and 0.73 to 0.85 times where rows begin unevenly and K is long; at K = 127 up
   * to 1.24 times.
   */
  private static boolean isOursFaster(
      MultiplyProblem problem, long terms, DeviceLimits limits, KernelIndex index) {
    boolean isFaster =
        problem.type() == ElementType.FLOAT32 || MultiplyCost.products(problem) >= LARGE_PRODUCTS;
    return isFaster
        && isTensorSize(problem, limits, index)
        && !TensorPlans.of(problem, terms, limits, index).isEmpty();
  }

  /** The skinny kernel for a problem that is large enough for it. */
  private static Optional<MultiplyStrategy.Skinny> skinnyByRule(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    double m = problem.m();
    double largest = Math.max(m * problem.n(), Math.max(m, (double) problem.n()) * problem.k());
    double one = problem.precision() == Precision.FULL ? SKINNY_ELEMENTS : NARROW_ELEMENTS;
    return largest < (problem.batch().count() == 1 ? one : SKINNY_BATCH_ELEMENTS)
        ? Optional.empty()
        : SkinnySteps.of(problem, limits, index)
            .filter(
                skinny ->
                    !SkinnySteps.isShallow(problem)
                        || SkinnySteps.tiles(problem, skinny.kernel().shape())
                            >= limits.multiprocessors());
  }

  /** True of so many columns of floats that skinny kernels read a large A slowly along K. */
  private static boolean isWideAlong(MultiplyProblem problem) {
    return problem.type() == ElementType.FLOAT32
        && problem.n() > SKINNY_COLS
        && problem.n() <= SkinnySteps.MOST
        && problem.m() >= WIDE_ROWS
        && (double) problem.m() * problem.k() >= WIDE_ELEMENTS
        && isEvenAlong(problem);
  }

  /** True if a skinny kernel is expected to be faster than cuBLAS, or hardly slower. */
  private static boolean isSkinnyFaster(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    return (problem.type() == ElementType.FLOAT32
            || (SkinnySteps.isShallow(problem)
                // A step of K of such a B lies K elements from the next column's.
                ? !problem.transposeB()
                : SkinnySteps.count(problem) <= SKINNY_DOUBLES))
        && skinnyByRule(problem, limits, index).isPresent();
  }

  /**
   * True if few columns leave a large A that goes by once in the tensor cores' own kernel too: the
   * copy engine rounds it to tf32 as it reads it. From 2000 rows on that took 0.64 to 0.98 times as
   * long as the skinny kernel for 16 columns, and 0.83 to 1.08 times for one, on an H200.
   */
  private static boolean isReadOnce(MultiplyPlan tensor) {
    MultiplyProblem problem = tensor.problem();
    return problem.precision() == Precision.TF32
        && !strategy(tensor).isMma()
        && problem.n() <= SkinnySteps.MOST
        && problem.m() >= WIDE_ROWS
        && isEvenAlong(problem);
  }

  /** True if A lies along a K that is not small, in rows that begin evenly if A does. */
  private static boolean isEvenAlong(MultiplyProblem problem) {
    long strideA = problem.batch().count() == 1 ? 0 : problem.batch().strideA();
    return !problem.transposeA()
        && problem.k() > SkinnySteps.MOST
        && problem.leadA() * Float.BYTES % TensorSteps.EVEN_BYTES == 0
        && strideA % problem.leadA() == 0;
  }

  private static MultiplyPlan skinny(MultiplyProblem problem, MultiplyStrategy.Skinny strategy) {
    return new MultiplyPlan(problem, strategy, Optional.empty());
  }

  private static MultiplyDecision own(
      MultiplyProblem problem, long terms, DeviceLimits limits, KernelIndex index) {
    boolean isWide = isWideAlong(problem);
    if (isWide || isTensorSize(problem, limits, index)) {
      Optional<MultiplyPlan> tensor =
          best(TensorPlans.of(problem, terms, limits, index), limits)
              .filter(plan -> !isWide || plan.workspaceBytes() <= MOST_WIDE_BYTES);
      if (tensor.isPresent()) {
        return tensor.get();
      }
    }
    Optional<MultiplyStrategy.Skinny> skinny = skinnyByRule(problem, limits, index);
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

  /**
   * The plan among {@link TensorPlans} whose tiles suit the problem best; where there are kernels
   * for sm_90a, one of them. One that is fused, if packing is expected to take longer.
   */
  private static Optional<MultiplyPlan> best(List<MultiplyPlan> tensors, DeviceLimits limits) {
    Optional<MultiplyPlan> fused =
        tensors.stream()
            .filter(
                plan ->
                    strategy(plan).isFused()
                        && strategy(plan).parts() == 1
                        && MultiplyCost.fusedNanos(plan.problem(), strategy(plan), limits)
                            < MultiplyCost.packedNanos(plan.problem(), strategy(plan), limits))
            .min(
                Comparator.comparingDouble(
                        (MultiplyPlan plan) ->
                            MultiplyCost.fusedNanos(plan.problem(), strategy(plan), limits))
                    // Where memory is what takes the time, two thread blocks may use it better.
                    .thenComparing(plan -> !isShared(plan))
                    .thenComparingInt(plan -> strategy(plan).kernel().blocksPerProcessor()));
    return fused.isPresent()
        ? fused
        : tensors.stream()
            .filter(plan -> !strategy(plan).isFused())
            .min(
                Comparator.comparing((MultiplyPlan plan) -> strategy(plan).isMma())
                    .thenComparingDouble(
                        plan -> MultiplyCost.cost(plan.problem(), strategy(plan), limits))
                    // 256 x 128 took 1.02 times as long as 128 x 256 where both fill the device.
                    .thenComparingInt(plan -> strategy(plan).kernel().shape().rows()));
  }

  private static MultiplyStrategy.Tensor strategy(MultiplyPlan tensor) {
    return (MultiplyStrategy.Tensor) tensor.strategy();
  }

  /**
   * True if thread blocks share multiprocessors and C is not of whole tiles that are twice as wide,
   * or of one tile for each product: wide tiles read less, and took 0.95 to 1.00 times as long
   * where power limits the clock.
   */
  private static boolean isShared(MultiplyPlan plan) {
    KernelIndex.Kernel kernel = strategy(plan).kernel();
    MultiplyProblem problem = plan.problem();
    return kernel.blocksPerProcessor() > 1
        && (problem.n() % (2L * kernel.shape().cols()) != 0
            || MultiplyStrategy.Tiled.tiles(problem, kernel.shape()) == problem.batch().count());
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
