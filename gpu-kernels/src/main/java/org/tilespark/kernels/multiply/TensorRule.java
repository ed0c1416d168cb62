package org.tilespark.kernels.multiply;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.layout.ElementType;

/**
 * Decides by rule which products use the tensor cores, and with which of {@link TensorPlans}, if
 * their class was not measured. Pure functions.
 */
final class TensorRule {
  /**
   * The least M*K*N for which the rule packs operands for the tensor cores: below, packing takes as
   * long as the work.
   */
  static final double LEAST_PRODUCTS = 512.0 * 512 * 512;

  /** The least M*K*N for which our kernel for doubles is preferred to cuBLAS. */
  private static final double LARGE_PRODUCTS = 1024.0 * 1024 * 1024;

  /** The least number of rows and of columns of C: a smaller C leaves a tile mostly empty. */
  private static final long LEAST_EXTENT = 64;

  /**
   * C must have at least as many tiles of 128 x 128 as the number of multiprocessors divided by
   * this.
   */
  private static final int IDLE_PROCESSORS = 4;

  private static final int TILE = 128;

  /** The least number of steps of a part of K that the rule counts as a tile if K is cut. */
  private static final long LEAST_PART = 256;

  /**
   * The largest number of columns of FLOAT for which the skinny kernels are our fastest, if A is
   * stored along K.
   */
  private static final int SKINNY_COLS = 8;

  /**
   * The least number of elements of A for which, with more columns than that, the tensor cores'
   * kernel is faster. On an H200 it took 0.39 to 0.98 times as long from 2000 x 2000 on, and 1.1
   * times as long at 1000 x 1000.
   */
  private static final double WIDE_ELEMENTS = 1024.0 * 2048;

  /**
   * The least number of rows of an A stored along K for which packing B is a small part of the
   * time.
   */
  private static final long WIDE_ROWS = 1024;

  /**
   * Most bytes of workspace of a plan for few columns, which is chosen without a reservation of
   * memory.
   */
  private static final long MOST_WIDE_BYTES = 1L << 30;

  private TensorRule() {}

  /** True if the problem keeps the tensor cores busy enough for operands to be packed. */
  private static boolean isLarge(MultiplyProblem problem, DeviceKernels device) {
    double each = Math.ceil((double) problem.m() / TILE) * Math.ceil((double) problem.n() / TILE);
    long parts =
        TensorPlans.summing(problem, device).isEmpty()
            ? 1
            : Math.min(
                problem.k() / LEAST_PART,
                PartsOfK.parts(TensorForm.of(problem), problem, device.limits().multiprocessors()));
    double tiles = each * Math.max(problem.batch().count(), parts);
    return MultiplyCost.products(problem) >= LEAST_PRODUCTS
        && Math.min(problem.m(), Math.min(problem.k(), problem.n())) >= LEAST_EXTENT
        && tiles * IDLE_PROCESSORS >= device.limits().multiprocessors();
  }

  /**
   * True if our kernels are expected to be faster than cuBLAS, at the same accuracy. Our kernels
   * for FLOAT are faster, or only slightly slower. On an H200, large products of DOUBLE took 0.95
   * to 1.03 times as long as with cuBLAS, 0.73 to 0.85 times if rows are not aligned and K is long,
   * and up to 1.24 times at K = 127.
   */
  static boolean isFaster(MultiplyProblem problem, long terms, DeviceKernels device) {
    boolean isLargeEnough =
        problem.type() == ElementType.FLOAT32 || MultiplyCost.products(problem) >= LARGE_PRODUCTS;
    return isLargeEnough
        && isLarge(problem, device)
        && !TensorPlans.of(problem, terms, device).isEmpty();
  }

  /**
   * True for FLOAT with 9 to 16 columns and a large A along K, which the skinny kernels read
   * slowly.
   */
  private static boolean isWideAlong(MultiplyProblem problem) {
    return problem.type() == ElementType.FLOAT32
        && problem.n() > SKINNY_COLS
        && problem.n() <= SkinnySteps.MOST
        && problem.m() >= WIDE_ROWS
        && (double) problem.m() * problem.k() >= WIDE_ELEMENTS
        && isEvenAlong(problem);
  }

  /**
   * True if the tensor-core kernel streams a large tf32 A once for few columns: the copy engine
   * rounds A as it reads. On an H200, from 2000 rows on, that took 0.64 to 0.98 times as long as
   * the skinny kernel for 16 columns, and 0.83 to 1.08 times for one column.
   */
  static boolean streamsA(MultiplyPlan tensor) {
    MultiplyProblem problem = tensor.problem();
    return problem.precision() == Precision.TF32
        && !strategy(tensor).isMma()
        && problem.n() <= SkinnySteps.MOST
        && problem.m() >= WIDE_ROWS
        && isEvenAlong(problem);
  }

  /** True if A is stored along K, K is not small, and all rows are aligned if the first one is. */
  private static boolean isEvenAlong(MultiplyProblem problem) {
    long strideA = problem.batch().count() == 1 ? 0 : problem.batch().strideA();
    return !problem.a().transposed()
        && problem.k() > SkinnySteps.MOST
        && problem.a().lead() * Float.BYTES % TensorSteps.EVEN_BYTES == 0
        && strideA % problem.a().lead() == 0;
  }

  /** The plan on the tensor cores, if it is expected to be faster than our other kernels. */
  static Optional<MultiplyPlan> of(MultiplyProblem problem, long terms, DeviceKernels device) {
    boolean isWide = isWideAlong(problem);
    return isWide || isLarge(problem, device)
        ? best(problem, terms, device)
            .filter(plan -> !isWide || plan.workspaceBytes() <= MOST_WIDE_BYTES)
        : Optional.empty();
  }

  /**
   * The plan among {@link TensorPlans} whose tiles suit the problem best; it uses kernels for
   * sm_90a if there are any, and a fused kernel if packing is expected to take longer.
   */
  static Optional<MultiplyPlan> best(MultiplyProblem problem, long terms, DeviceKernels device) {
    List<MultiplyPlan> tensors = TensorPlans.of(problem, terms, device);
    Optional<MultiplyPlan> fused =
        tensors.stream()
            .filter(
                plan ->
                    strategy(plan).isFused()
                        && strategy(plan).sums().parts() == 1
                        && MultiplyCost.fusedNanos(plan.problem(), strategy(plan), device.limits())
                            < MultiplyCost.packedNanos(
                                plan.problem(), strategy(plan), device.limits()))
            .min(
                Comparator.comparingDouble(
                        (MultiplyPlan plan) ->
                            MultiplyCost.fusedNanos(
                                plan.problem(), strategy(plan), device.limits()))
                    // If memory is the bottleneck, two thread blocks on a multiprocessor may use
                    // its bandwidth better.
                    .thenComparing(plan -> !isShared(plan))
                    .thenComparingInt(
                        plan -> strategy(plan).kernel().traits().blocksPerProcessor()));
    return fused.isPresent()
        ? fused
        : tensors.stream()
            .filter(plan -> !strategy(plan).isFused())
            .min(
                Comparator.comparing((MultiplyPlan plan) -> strategy(plan).isMma())
                    .thenComparingDouble(
                        plan -> MultiplyCost.cost(plan.problem(), strategy(plan), device.limits()))
                    // Tiles of 256 x 128 took 1.02 times as long as tiles of 128 x 256 if both fill
                    // the device.
                    .thenComparingInt(plan -> strategy(plan).kernel().shape().rows()));
  }

  private static MultiplyStrategy.Tensor strategy(MultiplyPlan tensor) {
    return (MultiplyStrategy.Tensor) tensor.strategy();
  }

  /**
   * True if thread blocks share multiprocessors, unless C consists of whole tiles of twice the
   * width, or of one tile per product. Wide tiles read less, and took 0.95 to 1.00 times as long if
   * power limits the clock.
   */
  private static boolean isShared(MultiplyPlan plan) {
    KernelIndex.Kernel kernel = strategy(plan).kernel();
    MultiplyProblem problem = plan.problem();
    return kernel.traits().blocksPerProcessor() > 1
        && (problem.n() % (2L * kernel.shape().cols()) != 0
            || MultiplyStrategy.Tiled.tiles(problem, kernel.shape()) == problem.batch().count());
  }

  /**
   * True for a plan on the tensor cores, with {@code mma.sync} if {@code isMma}, otherwise with the
   * newer instructions.
   */
  static boolean isTensor(MultiplyPlan way, boolean isMma) {
    return way.strategy() instanceof MultiplyStrategy.Tensor tensor && tensor.isMma() == isMma;
  }
}
