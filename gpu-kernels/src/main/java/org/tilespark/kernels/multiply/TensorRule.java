package org.tilespark.kernels.multiply;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.tilespark.kernels.launch.DeviceKernels;
import org.tilespark.kernels.launch.KernelIndex;
import org.tilespark.layout.ElementType;

/**
 * Chooses the products for the tensor cores, and one of {@link TensorPlans} for them, where nothing
 * was measured. Pure functions.
 */
final class TensorRule {
  /**
   * Products from which operands are packed for the tensor cores by rule: below, packing takes as
   * long as the work.
   */
  static final double LEAST_PRODUCTS = 512.0 * 512 * 512;

  /** Minimum M*K*N at which our double kernel is preferred to cuBLAS. */
  private static final double LARGE_PRODUCTS = 1024.0 * 1024 * 1024;

  /** Extents from which it is worth it: a tile of fewer rows or columns is mostly empty. */
  private static final long LEAST_EXTENT = 64;

  /** The rule asks for at least multiprocessors / this tiles of 128 x 128. */
  private static final int IDLE_PROCESSORS = 4;

  private static final int TILE = 128;

  /** Steps of K from which a part of a product that is cut along K counts by rule as a tile. */
  private static final long LEAST_PART = 256;

  /** Columns of floats up to which the skinny kernels for an A along K are the fastest of ours. */
  private static final int SKINNY_COLS = 8;

  /**
   * Elements of a wide A from which, for more columns, the tensor cores' kernel is faster: 0.39 to
   * 0.98 times as long from 2000 x 2000 on, 1.1 times at 1000 x 1000, on an H200.
   */
  private static final double WIDE_ELEMENTS = 1024.0 * 2048;

  /** Rows of an A along K from which packing B is no large part of the time. */
  private static final long WIDE_ROWS = 1024;

  /** Workspace cap for a strategy chosen without a reservation. */
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
   * True if our kernels are expected to be faster than cuBLAS, which is to be as exact as they are.
   * Kernels for FLOAT are faster, or hardly slower; large products of DOUBLE took 0.95 to 1.03
   * times as long, on an H200, and 0.73 to 0.85 times where rows begin unevenly and K is long; at K
   * = 127 up to 1.24 times.
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
   * rounds A as it reads. From 2000 rows on that took 0.64 to 0.98 times as long as the skinny
   * kernel for 16 columns, and 0.83 to 1.08 times for one, on an H200.
   */
  static boolean streamsA(MultiplyPlan tensor) {
    MultiplyProblem problem = tensor.problem();
    return problem.precision() == Precision.TF32
        && !strategy(tensor).isMma()
        && problem.n() <= SkinnySteps.MOST
        && problem.m() >= WIDE_ROWS
        && isEvenAlong(problem);
  }

  /** True if A is stored along a K that is not small, in rows that begin evenly if A does. */
  private static boolean isEvenAlong(MultiplyProblem problem) {
    long strideA = problem.batch().count() == 1 ? 0 : problem.batch().strideA();
    return !problem.a().transposed()
        && problem.k() > SkinnySteps.MOST
        && problem.a().lead() * Float.BYTES % TensorSteps.EVEN_BYTES == 0
        && strideA % problem.a().lead() == 0;
  }

  /** The plan on the tensor cores, where it is expected to be the fastest of ours. */
  static Optional<MultiplyPlan> of(MultiplyProblem problem, long terms, DeviceKernels device) {
    boolean isWide = isWideAlong(problem);
    return isWide || isLarge(problem, device)
        ? best(problem, terms, device)
            .filter(plan -> !isWide || plan.workspaceBytes() <= MOST_WIDE_BYTES)
        : Optional.empty();
  }

  /**
   * The plan among {@link TensorPlans} whose tiles suit the problem best; where there are kernels
   * for sm_90a, one of them. One that is fused, if packing is expected to take longer.
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
                    // Where memory is what takes the time, two thread blocks may use it better.
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
    return kernel.traits().blocksPerProcessor() > 1
        && (problem.n() % (2L * kernel.shape().cols()) != 0
            || MultiplyStrategy.Tiled.tiles(problem, kernel.shape()) == problem.batch().count());
  }

  /** True of a way on the tensor cores by {@code mma.sync}, or by what newer devices have. */
  static boolean isTensor(MultiplyPlan way, boolean isMma) {
    return way.strategy() instanceof MultiplyStrategy.Tensor tensor && tensor.isMma() == isMma;
  }
}
