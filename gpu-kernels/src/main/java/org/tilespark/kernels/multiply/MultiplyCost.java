package org.tilespark.kernels.multiply;

import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.DeviceLimits;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * Estimates how long our kernels take for a product, for comparisons. Each number states its
 * measurement. Pure functions.
 */
final class MultiplyCost {
  /**
   * Relative time of a tile that is too narrow for the full rate of reads from shared memory,
   * measured.
   */
  private static final double NARROW_COST = 1.35;

  /**
   * Cost of the separate launch that sums the partial sums of K's parts, in steps of K; estimated.
   */
  private static final double SUMMING_STEPS = 64;

  /**
   * Time of DOUBLE if each warpgroup computes a tile of its own, relative to the time if warpgroups
   * share a tile. Measured at K = 128 and 256; for a longer K the inverse is assumed.
   */
  private static final double TILES_APART = 0.96;

  private static final long TILES_APART_STEPS = 256;

  /**
   * Extra time of a separate tile that is alone on its multiprocessor, as a fraction; measured at
   * 1024 x 1024 x 1024.
   */
  private static final double LONE_TILE = 0.15;

  /**
   * Bytes per nanosecond that a multiprocessor reads if it converts operands while it reads,
   * measured on an H200.
   */
  private static final double FUSED_BYTES_PER_NANO = 38;

  /** Bytes per nanosecond likewise for a multiprocessor that two thread blocks share. */
  private static final double SHARED_BYTES_PER_NANO = 45;

  /**
   * Bytes per nanosecond that a multiprocessor reads for tf32 if B is stored as K x N, so that the
   * kernel transposes it too.
   */
  private static final double TRANSPOSED_BYTES_PER_NANO = 30;

  /** One multiprocessor's share of the memory bandwidth, in bytes per nanosecond (H200). */
  private static final double MEMORY_BYTES_PER_NANO = 29;

  /**
   * Multiply-adds of packed 16-bit values per nanosecond and multiprocessor (H200); of tf32 half as
   * many.
   */
  private static final double PRODUCTS_PER_NANO = 2500;

  /** Time of one more launch, in nanoseconds, about. */
  private static final double LAUNCH_NANOS = 2000;

  private MultiplyCost() {}

  /**
   * Relative time of one step of K. The multiprocessor with the most tiles decides. Smaller tiles
   * read operands more often, modelled as 16 more rows and columns. Thread blocks that share a
   * multiprocessor divide its rate.
   */
  static double cost(MultiplyProblem problem, KernelIndex.Kernel kernel, DeviceLimits limits) {
    return cost(
        (double) MultiplyStrategy.Tiled.tiles(problem, kernel.shape()),
        kernel,
        limits.multiprocessors() * kernel.traits().blocksPerProcessor());
  }

  /** Relative time of all steps of K, split-K included. */
  static double cost(MultiplyProblem problem, MultiplyStrategy.Tensor tensor, DeviceLimits limits) {
    KernelIndex.Kernel kernel = tensor.kernel();
    boolean isCut = tensor.sums().parts() > 1;
    double steps = problem.k() / (double) tensor.sums().parts() + (isCut ? SUMMING_STEPS : 0);
    // Products that are cut go one after the other.
    MultiplyProblem atOnce = isCut ? problem.first() : problem;
    if (tensor.form() == TensorForm.FLOAT64) {
      return doubles(atOnce, tensor, steps, limits.multiprocessors());
    }
    double all =
        (double) MultiplyStrategy.Tiled.tiles(atOnce, kernel.shape()) * tensor.sums().parts();
    return (tensor.isNarrow() ? NARROW_COST : 1)
        * cost(all, kernel, limits.multiprocessors() * kernel.traits().blocksPerProcessor())
        * steps;
  }

  /**
   * Time of a product of DOUBLE, in steps of K of one tile: that of the multiprocessor with the
   * most tiles.
   */
  private static double doubles(
      MultiplyProblem problem, MultiplyStrategy.Tensor tensor, double steps, int processors) {
    KernelIndex.TileShape shape = tensor.kernel().shape();
    double tiles =
        (double) Ceil.div(PartsOfK.rowsOfKernel(problem), shape.rows())
            * Ceil.div(PartsOfK.colsOfKernel(problem), shape.cols())
            * problem.batch().count();
    double most = Math.ceil(tiles * tensor.sums().parts() / processors); // of one multiprocessor
    double taken =
        tensor.sums().rest().isNone()
            ? most * steps
            : PartsOfK.restCost(problem, shape, tensor.sums().rest(), processors);
    if (TensorForm.isOneChain(tensor.kernel())) {
      taken += LONE_TILE * (most % 2) * steps;
      taken *= problem.k() <= TILES_APART_STEPS ? TILES_APART : 1 / TILES_APART;
    }
    return taken;
  }

  private static double cost(double tiles, KernelIndex.Kernel kernel, int atOnce) {
    KernelIndex.TileShape shape = kernel.shape();
    return Math.ceil(tiles / atOnce)
        * kernel.traits().blocksPerProcessor()
        * (shape.rows() + 16.0)
        * (shape.cols() + 16.0);
  }

  /** Nanoseconds of a fused kernel: each tile reads its rows and columns as they are stored. */
  static double fusedNanos(
      MultiplyProblem problem, MultiplyStrategy.Tensor tensor, DeviceLimits limits) {
    KernelIndex.TileShape shape = tensor.kernel().shape();
    int blocks = tensor.kernel().traits().blocksPerProcessor();
    double tiles = (double) MultiplyStrategy.Tiled.tiles(problem, shape);
    double tileBytes = (double) (shape.rows() + shape.cols()) * problem.k() * Float.BYTES;
    double rate =
        tensor.form() == TensorForm.TF32 && !problem.b().transposed()
            ? TRANSPOSED_BYTES_PER_NANO
            : blocks == 1 ? FUSED_BYTES_PER_NANO : SHARED_BYTES_PER_NANO;
    return Math.max(
        Math.ceil(tiles / limits.multiprocessors() / blocks) * blocks * tileBytes / rate,
        (valuesA(problem) + valuesB(problem) + valuesC(problem))
            * Float.BYTES
            / (MEMORY_BYTES_PER_NANO * limits.multiprocessors()));
  }

  /** Nanoseconds of packing the operands and of multiplying the packed operands. */
  static double packedNanos(
      MultiplyProblem problem, MultiplyStrategy.Tensor tensor, DeviceLimits limits) {
    TensorForm form = tensor.form();
    int width = form.element().bytes();
    boolean isRead = form == TensorForm.TF32; // tf32 is read as stored if K is along rows
    double packed =
        (isRead && !problem.a().transposed() ? 0 : valuesA(problem))
            + (isRead && problem.b().transposed() ? 0 : valuesB(problem));
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

  /**
   * Number of distinct matrices of an operand, given its stride between products: 1 if all products
   * share one.
   */
  private static long alike(MultiplyProblem problem, long stride) {
    return stride == 0 ? 1 : problem.batch().count();
  }

  private static double valuesC(MultiplyProblem problem) {
    return (double) problem.m() * problem.n() * problem.batch().count();
  }

  /** The number of multiply-adds: products of a value of A and a value of B. */
  static double products(MultiplyProblem problem) {
    return (double) problem.m() * problem.k() * problem.n() * problem.batch().count();
  }
}
