package org.tilespark.kernels.plan;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
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

  /** What makes the tiles that a kernel of {@link TensorForm#SPLIT} leaves alone. */
  private static final String REPAIR = "repair_split";

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

  /** How much longer a tile takes whose operands shared memory reads more slowly, measured. */
  private static final double NARROW_COST = 1.35;

  /** Steps of K that take as long as summing parts of K by a launch of its own, estimated. */
  private static final double SUMMING_STEPS = 64;

  /** The same where the two teams of a thread block add their halves: measured at K = 256. */
  private static final double HALVING_STEPS = 32;

  /**
   * What a tile of doubles takes longer that has a multiprocessor to itself, beside one of two at a
   * time: measured at 1024 x 1024 x 1024.
   */
  private static final double LONE_TILE = 0.15;

  /**
   * Steps of K from which even and odd rows of two operands are read apart rather than copied, and
   * what that takes: measured at 4095 x K x 4097. Of B alone they always are, of A alone in
   * batches.
   */
  private static final long PHASED_STEPS = 512;

  private static final double PHASED_COST = 0.97;

  /** What a multiprocessor reads where operands are converted on the way, measured on an H200. */
  private static final double FUSED_BYTES_PER_NANO = 38;

  /** The same of two thread blocks that share it. */
  private static final double SHARED_BYTES_PER_NANO = 45;

  /** Tiles of such a thread block, at most, where products have several. */
  private static final long MOST_SHARED_TURNS = 20;

  /** What a multiprocessor reads of tf32 where B is transposed too. */
  private static final double TRANSPOSED_BYTES_PER_NANO = 30;

  /** A multiprocessor's share of what goes to and from memory, the same. */
  private static final double MEMORY_BYTES_PER_NANO = 29;

  /** Products of packed 16-bit values of a multiprocessor, the same; of tf32 half as many. */
  private static final double PRODUCTS_PER_NANO = 2500;

  /** What another launch takes, about. */
  private static final double LAUNCH_NANOS = 2000;

  /** Kernels of {@code multiply_parts.cu}. */
  private static final String SUMMING = "multiply_parts";

  /**
   * Sums of fewer terms are not split: what the split leaves out, up to 14 u |A||B| in the checks
   * of dev/matmul, would be more than 2 u sqrt(K).
   */
  static final long SPLIT_LEAST_TERMS = 64;

  /**
   * Elements of the largest matrix from which a product with a small extent is the skinny kernels':
   * below, a launch takes as long as the work, and a tiled one is one launch.
   */
  static final double SKINNY_ELEMENTS = 256.0 * 256;

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

  /** Packed operands take no larger part of a device's memory. */
  private static final int TENSOR_MEMORY_SHARE = 4;

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
      return own(problem.withPrecision(Precision.FULL), terms, limits, index);
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
                  && ((products(problem) >= CUBLAS_PRODUCTS && terms >= CUBLAS_LEAST_TERMS)
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
      Optional<MultiplyPlan> ours = best(tensors(problem, terms, limits, index), limits);
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
            + (kernels(TensorForm.of(problem), problem, limits, index).isEmpty()
                ? " on " + limits.architecture()
                : " of operands as large as these")
            + " needs cuBLAS, "
            + (engine == MultiplyEngine.OWN
                ? "which is ruled out by engine OWN"
                : "which is not there: " + cublas.absence().orElseThrow())
            + "; ask for precision FULL, or install cuBLAS");
  }

  /**
   * The ways among which to choose by trying, for problems of full precision: {@link #candidates},
   * less cuBLAS where sums are too short for it to be as exact as it must be, and less those that
   * give other bits than the rule's where the engine is named so that bits are the same everywhere.
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
    List<MultiplyPlan> choices = new ArrayList<>();
    for (MultiplyPlan way : candidates(trial, terms, cublas, limits, index)) {
      if (way.strategy().way().equals(byRule.strategy().way())) {
        choices.add(0, way);
      } else if (engine == MultiplyEngine.AUTO
          ? terms >= CUBLAS_LEAST_TERMS || !(way.strategy() instanceof MultiplyStrategy.Cublas)
          : way.strategy().order().equals(byRule.strategy().order())) {
        choices.add(way);
      }
    }
    return choices;
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
    if (way.isCublas() || !(byRule instanceof MultiplyPlan plan)) {
      return byRule;
    }
    return owns(plan, terms, limits, index).stream()
        .filter(own -> own.strategy().way().equals(Optional.of(way)))
        .findFirst()
        .orElse(plan);
  }

  /** All own ways to do what {@code byRule} does; none where that is nothing. */
  private static List<MultiplyPlan> owns(
      MultiplyPlan byRule, long terms, DeviceLimits limits, KernelIndex index) {
    return byRule.strategy() instanceof MultiplyStrategy.Nothing
        ? List.of()
        : candidates(
            byRule.problem(), terms, CublasPresence.absent("not asked for"), limits, index);
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
    SkinnySteps.of(problem, limits, index).ifPresent(skinny -> all.add(skinny(problem, skinny)));
    all.addAll(tensors(problem, terms, limits, index));
    if (cublas.isPresent() && problem.k() > 0) {
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
    TensorForm form = TensorForm.of(problem);
    boolean packs = !kernels(form, problem, limits, index).isEmpty();
    long most = limits.globalBytes() / TENSOR_MEMORY_SHARE;
    long frugal = mostWorkspaceBytes(cublas, limits);
    return Math.max(
        Math.max(frugal, SkinnySteps.mostWorkspaceBytes(problem, limits, index)),
        !packs
            ? 0
            : TensorWorkspace.canCount(problem, form)
                ? Math.min(
                    most,
                    TensorWorkspace.mostBytes(
                        form,
                        problem,
                        summing(problem, limits, index).isPresent() ? limits.multiprocessors() : 0))
                : most);
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
            .min(Comparator.comparingDouble(kernel -> cost(problem, kernel, limits)))
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
        problem.accumulate(),
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

  /**
   * The ways that pack operands for the tensor cores; none where the jar lacks a kernel that it
   * takes, for this device, or where operands are too large.
   */
  private static List<MultiplyPlan> tensors(
      MultiplyProblem problem, long terms, DeviceLimits limits, KernelIndex index) {
    TensorForm form = TensorForm.of(problem);
    if (problem.k() == 0
        || !TensorWorkspace.canCount(problem, form)
        || (form == TensorForm.SPLIT && Math.max(terms, problem.k()) < SPLIT_LEAST_TERMS)) {
      return List.of();
    }
    Optional<List<KernelIndex.Kernel>> packers = packers(form, problem, limits, index);
    if (packers.isEmpty()) {
      return List.of();
    }
    Optional<KernelIndex.Kernel> summing = summing(problem, limits, index);
    List<KernelIndex.Kernel> packed = kernels(form, problem, limits, index);
    Stream<MultiplyStrategy.Tensor> packing =
        packed.stream()
            .filter(kernel -> !TensorForm.isHalved(kernel) || PartsOfK.canHalve(form, problem.k()))
            .filter(kernel -> !TensorForm.isPhased(kernel) || DoubleSteps.canPhase(problem))
            .filter(
                kernel ->
                    !TensorForm.isOneChain(kernel)
                        || problem.k()
                            <= form.panel()
                                * MultiplyStrategy.Tensor.chain(Math.max(terms, problem.k())))
            .map(kernel -> tensor(problem, terms, kernel, packers.get(), summing, limits));
    Stream<MultiplyStrategy.Tensor> fused =
        packed.isEmpty() || !FusedSteps.isFusible(problem, true, true)
            ? Stream.empty()
            : index.findAll(form.fusedFamily(problem), problem.type().bytes(), limits).stream()
                .filter(
                    kernel ->
                        kernel.blocksPerProcessor() == 1
                            || FusedSteps.isEvenC(problem, kernel.shape()))
                .map(
                    kernel ->
                        tensor(
                            problem,
                            terms,
                            kernel,
                            List.of(packers.get().get(0), unfused(packed, problem, limits)),
                            summing,
                            limits));
    return Stream.concat(packing, fused)
        .filter(tensor -> tensor.workspaceBytes() <= limits.globalBytes() / TENSOR_MEMORY_SHARE)
        .map(tensor -> new MultiplyPlan(problem, tensor, Optional.empty()))
        .toList();
  }

  /** What multiplies where operands begin unevenly, so that none can be fused. */
  private static KernelIndex.Kernel unfused(
      List<KernelIndex.Kernel> packed, MultiplyProblem problem, DeviceLimits limits) {
    return packed.stream()
        .min(
            Comparator.comparing(
                    (KernelIndex.Kernel kernel) -> kernel.family().startsWith(TensorForm.MMA))
                .thenComparingDouble(kernel -> cost(problem, kernel, limits)))
        .orElseThrow();
  }

  private static MultiplyStrategy.Tensor tensor(
      MultiplyProblem problem,
      long terms,
      KernelIndex.Kernel kernel,
      List<KernelIndex.Kernel> packers,
      Optional<KernelIndex.Kernel> summing,
      DeviceLimits limits) {
    TensorForm form = TensorForm.of(problem);
    long wanted =
        summing.isEmpty() || TensorForm.isHalved(kernel)
            ? 1
            : PartsOfK.parts(form, problem, limits.multiprocessors());
    long chunk = MultiplyStrategy.Tensor.chunk(form, problem.k(), wanted);
    long parts = PartsOfK.partsOfChunk(form, Math.min(chunk, problem.k()), wanted);
    long atOnce = parts > 1 ? 1 : TensorWorkspace.atOnce(form, problem, chunk);
    MultiplyStrategy.Tensor.Rest rest =
        summing.isEmpty() || parts > 1 || form != TensorForm.FLOAT64 || TensorForm.isHalved(kernel)
            ? MultiplyStrategy.Tensor.Rest.NONE
            : PartsOfK.rest(problem, kernel.shape(), limits.multiprocessors());
    return new MultiplyStrategy.Tensor(
        form,
        kernel,
        packers,
        chunk,
        MultiplyStrategy.Tensor.chain(Math.max(terms, problem.k())),
        limits.multiprocessors(),
        parts,
        summing,
        rest,
        atOnce,
        TensorWorkspace.bytes(form, problem, chunk, parts, atOnce)
            + TensorWorkspace.restBytes(problem, rest));
  }

  /** The kernels that multiply operands of a form. */
  private static List<KernelIndex.Kernel> kernels(
      TensorForm form, MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    return form.families(problem).stream()
        .flatMap(family -> index.findAll(family, form.elementOfA().bytes(), limits).stream())
        .toList();
  }

  /** What a form takes beside the kernel that multiplies, if all of it is there. */
  private static Optional<List<KernelIndex.Kernel>> packers(
      TensorForm form, MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    Optional<KernelIndex.Kernel> packer =
        index.find(form.packer(problem), form.element().bytes(), limits);
    if (form != TensorForm.SPLIT) {
      return packer.map(List::of);
    }
    Optional<KernelIndex.Kernel> repair = index.find(REPAIR, Float.BYTES, limits);
    return packer.isPresent() && repair.isPresent()
        ? Optional.of(List.of(packer.get(), repair.get()))
        : Optional.empty();
  }

  /** What sums products that were cut along K. */
  private static Optional<KernelIndex.Kernel> summing(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    return index.find(SUMMING, problem.type().bytes(), limits);
  }

  /** True if the problem keeps the tensor cores busy enough for operands to be packed. */
  private static boolean isTensorSize(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    double each =
        Math.ceil((double) problem.m() / TENSOR_TILE)
            * Math.ceil((double) problem.n() / TENSOR_TILE);
    long parts =
        summing(problem, limits, index).isEmpty()
            ? 1
            : Math.min(
                problem.k() / TENSOR_PART,
                PartsOfK.parts(TensorForm.of(problem), problem, limits.multiprocessors()));
    double tiles = each * Math.max(problem.batch().count(), parts);
    return products(problem) >= TENSOR_PRODUCTS
        && Math.min(problem.m(), Math.min(problem.k(), problem.n())) >= TENSOR_EXTENT
        && tiles * TENSOR_IDLE_PROCESSORS >= limits.multiprocessors();
  }

  /**
   * True if our kernels are expected to be faster than cuBLAS, which is to be as exact as they are.
   * Those for float are, or hardly slower; large products of doubles took 0.96 to 1.07 times as
   * long, on an H200, and 0.72 to 0.82 times where rows begin unevenly and K is long; at K = 127 up
   * to 1.28 times.
   */
  private static boolean isOursFaster(
      MultiplyProblem problem, long terms, DeviceLimits limits, KernelIndex index) {
    boolean isFaster = problem.type() == ElementType.FLOAT32 || products(problem) >= LARGE_PRODUCTS;
    return isFaster
        && isTensorSize(problem, limits, index)
        && !tensors(problem, terms, limits, index).isEmpty();
  }

  /** The skinny kernel for a problem that is large enough for it. */
  private static Optional<MultiplyStrategy.Skinny> skinnyByRule(
      MultiplyProblem problem, DeviceLimits limits, KernelIndex index) {
    double m = problem.m();
    double largest = Math.max(m * problem.n(), Math.max(m, (double) problem.n()) * problem.k());
    return largest < (problem.batch().count() == 1 ? SKINNY_ELEMENTS : SKINNY_BATCH_ELEMENTS)
        ? Optional.empty()
        : SkinnySteps.of(problem, limits, index)
            .filter(
                skinny ->
                    !SkinnySteps.isShallow(problem)
                        || SkinnySteps.tiles(problem, skinny.kernel().shape())
                            >= limits.multiprocessors());
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

  private static MultiplyPlan skinny(MultiplyProblem problem, MultiplyStrategy.Skinny strategy) {
    return new MultiplyPlan(problem, strategy, Optional.empty());
  }

  private static MultiplyDecision own(
      MultiplyProblem problem, long terms, DeviceLimits limits, KernelIndex index) {
    if (isTensorSize(problem, limits, index)) {
      Optional<MultiplyPlan> tensor = best(tensors(problem, terms, limits, index), limits);
      if (tensor.isPresent()) {
        return tensor.get();
      }
    }
    Optional<MultiplyStrategy.Skinny> skinny = skinnyByRule(problem, limits, index);
    if (skinny.isPresent()) {
      return skinny(problem, skinny.get());
    }
    return kernels(problem, limits, index).stream()
        .min(Comparator.comparingDouble(kernel -> cost(problem, kernel, limits)))
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
   * The plan among {@link #tensors} whose tiles suit the problem best; where there are kernels for
   * sm_90a, one of them. One that is fused, if packing is expected to take longer.
   */
  private static Optional<MultiplyPlan> best(List<MultiplyPlan> tensors, DeviceLimits limits) {
    Optional<MultiplyPlan> fused =
        tensors.stream()
            .filter(
                plan ->
                    strategy(plan).isFused()
                        && strategy(plan).parts() == 1
                        && fusedNanos(plan.problem(), strategy(plan), limits)
                            < packedNanos(plan.problem(), strategy(plan), limits))
            .min(
                Comparator.comparingDouble(
                        (MultiplyPlan plan) -> fusedNanos(plan.problem(), strategy(plan), limits))
                    // Where memory is what takes the time, two thread blocks use it better.
                    .thenComparing(plan -> !isShared(plan, limits))
                    .thenComparingInt(plan -> strategy(plan).kernel().blocksPerProcessor()));
    return fused.isPresent()
        ? fused
        : tensors.stream()
            .filter(plan -> !strategy(plan).isFused())
            .min(
                Comparator.comparing((MultiplyPlan plan) -> strategy(plan).isMma())
                    .thenComparingDouble(plan -> cost(plan.problem(), strategy(plan), limits))
                    // 256 x 128 took 1.02 times as long as 128 x 256 where both fill the device.
                    .thenComparingInt(plan -> strategy(plan).kernel().shape().rows()));
  }

  private static MultiplyStrategy.Tensor strategy(MultiplyPlan tensor) {
    return (MultiplyStrategy.Tensor) tensor.strategy();
  }

  /**
   * True if thread blocks share multiprocessors and have not too many turns for it: of products of
   * several tiles, 16 turns were faster and 32 slower.
   */
  private static boolean isShared(MultiplyPlan plan, DeviceLimits limits) {
    KernelIndex.Kernel kernel = strategy(plan).kernel();
    long tiles = MultiplyStrategy.Tiled.tiles(plan.problem(), kernel.shape());
    int atOnce = limits.multiprocessors() * kernel.blocksPerProcessor();
    return kernel.blocksPerProcessor() > 1
        && (tiles == plan.problem().batch().count() || tiles <= MOST_SHARED_TURNS * atOnce);
  }

  /** What a fused kernel takes: each tile reads its rows and columns as they are stored. */
  private static double fusedNanos(
      MultiplyProblem problem, MultiplyStrategy.Tensor tensor, DeviceLimits limits) {
    KernelIndex.TileShape shape = tensor.kernel().shape();
    int blocks = tensor.kernel().blocksPerProcessor();
    double tiles = (double) MultiplyStrategy.Tiled.tiles(problem, shape);
    double tileBytes = (double) (shape.rows() + shape.cols()) * problem.k() * Float.BYTES;
    double rate =
        tensor.form() == TensorForm.TF32 && !problem.transposeB()
            ? TRANSPOSED_BYTES_PER_NANO
            : blocks == 1 ? FUSED_BYTES_PER_NANO : SHARED_BYTES_PER_NANO;
    return Math.max(
        Math.ceil(tiles / limits.multiprocessors() / blocks) * blocks * tileBytes / rate,
        (valuesA(problem) + valuesB(problem) + valuesC(problem))
            * Float.BYTES
            / (MEMORY_BYTES_PER_NANO * limits.multiprocessors()));
  }

  /** What packing takes and multiplying what is packed. */
  private static double packedNanos(
      MultiplyProblem problem, MultiplyStrategy.Tensor tensor, DeviceLimits limits) {
    TensorForm form = tensor.form();
    int width = form.element().bytes();
    boolean isRead = form == TensorForm.TF32; // as stored, with K along the rows
    double packed =
        (isRead && !problem.transposeA() ? 0 : valuesA(problem))
            + (isRead && problem.transposeB() ? 0 : valuesB(problem));
    double read = (valuesA(problem) + valuesB(problem)) * width;
    double memory = MEMORY_BYTES_PER_NANO * limits.multiprocessors();
    double rate = PRODUCTS_PER_NANO * Short.BYTES / width * limits.multiprocessors();
    return packed * (Float.BYTES + width) / memory
        + Math.max(products(problem) / rate, (read + valuesC(problem) * Float.BYTES) / memory)
        + LAUNCH_NANOS;
  }

  private static double valuesA(MultiplyProblem problem) {
    return problem.m() * (double) problem.k() * alike(problem, problem.batch().strideA());
  }

  private static double valuesB(MultiplyProblem problem) {
    return problem.k() * (double) problem.n() * alike(problem, problem.batch().strideB());
  }

  /** Operands of the products, of which all may have the same. */
  private static long alike(MultiplyProblem problem, long stride) {
    return stride == 0 ? 1 : problem.batch().count();
  }

  private static double valuesC(MultiplyProblem problem) {
    return (double) problem.m() * problem.n() * problem.batch().count();
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
   * Time in arbitrary units, of each step of K: the multiprocessor with the most tiles decides, and
   * a smaller tile reads each operand more often for the same products, here taken as 16 columns of
   * work more. Thread blocks that share a multiprocessor each take so much longer.
   */
  private static double cost(
      MultiplyProblem problem, KernelIndex.Kernel kernel, DeviceLimits limits) {
    return cost(
        (double) MultiplyStrategy.Tiled.tiles(problem, kernel.shape()),
        kernel,
        limits.multiprocessors() * kernel.blocksPerProcessor());
  }

  /** The same of all steps, where K may be cut. */
  private static double cost(
      MultiplyProblem problem, MultiplyStrategy.Tensor tensor, DeviceLimits limits) {
    KernelIndex.Kernel kernel = tensor.kernel();
    boolean isCut = tensor.parts() > 1;
    // Products that are cut go one after the other.
    double tiles =
        (double) MultiplyStrategy.Tiled.tiles(isCut ? problem.first() : problem, kernel.shape());
    double all = tiles * tensor.parts();
    double steps = problem.k() / (double) tensor.parts() + (isCut ? SUMMING_STEPS : 0);
    if (tensor.form() == TensorForm.FLOAT64) {
      double most = Math.ceil(all / limits.multiprocessors()); // of one multiprocessor
      if (!tensor.rest().isNone()) {
        return PartsOfK.restCost(problem, kernel.shape(), tensor.rest(), limits.multiprocessors())
            * phasing(problem, tensor);
      }
      return tensor.isHalved()
          ? most * (steps + HALVING_STEPS)
          : (most + LONE_TILE * (most % 2)) * steps * phasing(problem, tensor);
    }
    return (tensor.isNarrow() ? NARROW_COST : 1)
        * cost(all, kernel, limits.multiprocessors() * kernel.blocksPerProcessor())
        * steps;
  }

  /** What a phased kernel takes, as a part of the other and of the copies that it needs. */
  private static double phasing(MultiplyProblem problem, MultiplyStrategy.Tensor tensor) {
    if (!tensor.isPhased()) {
      return 1;
    }
    boolean isFaster =
        !problem.transposeA()
            || problem.batch().count() > 1
            || (!problem.transposeB() && problem.k() >= PHASED_STEPS);
    return isFaster ? PHASED_COST : 1 / PHASED_COST;
  }

  private static double cost(double tiles, KernelIndex.Kernel kernel, int atOnce) {
    KernelIndex.TileShape shape = kernel.shape();
    return Math.ceil(tiles / atOnce)
        * kernel.blocksPerProcessor()
        * (shape.rows() + 16.0)
        * (shape.cols() + 16.0);
  }

  private static double products(MultiplyProblem problem) {
    return (double) problem.m() * problem.k() * problem.n() * problem.batch().count();
  }
}
