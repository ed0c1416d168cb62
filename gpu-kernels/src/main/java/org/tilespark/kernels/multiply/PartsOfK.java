package org.tilespark.kernels.multiply;

import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * Chooses the number of parts of K, so that few tiles of C occupy all multiprocessors of a device
 * (known as split-K): all of C, or for DOUBLE only the last columns of tiles. Pure functions.
 *
 * <p>The count of parts follows the count of multiprocessors, so the last bits of these products
 * differ between a card of 132 and one of 114. A count that suits all cards would leave up to half
 * of the larger ones idle; docs/operators.md says for which products.
 */
final class PartsOfK {
  /**
   * The least number of panels of a part of K: fewer panels do not fill the stages of shared
   * memory.
   */
  private static final long LEAST_PART_PANELS = 4;

  /** Rows of a tile that two teams compute together, as the kernel for doubles counts tiles. */
  private static final int DOUBLE_ROWS = 64;

  private static final int DOUBLE_COLS = 128;

  /**
   * Cost of the tail's own launch and of its sum, in steps of K of one tile (estimate); the next
   * constant is the relative time up to which a tail is used.
   */
  private static final double REST_STEPS = 128;

  private static final double WORTH_A_REST = 0.95;

  private PartsOfK() {}

  /**
   * Number of parts for split-K. K is cut if all products have fewer tiles than multiprocessors /
   * {@link TensorForm#fewTiles}; each product then gets enough parts for all multiprocessors, of at
   * least four panels. Products that are cut run one after another, so cutting must be faster in
   * spite of that. The count does not depend on the kernel's tile, so other tiles give the same
   * bits.
   *
   * @param processors multiprocessors of the device
   */
  static long parts(TensorForm form, MultiplyProblem problem, int processors) {
    double each =
        form == TensorForm.FLOAT64
            ? (double) Ceil.div(rowsOfKernel(problem), DOUBLE_ROWS)
                * Ceil.div(colsOfKernel(problem), DOUBLE_COLS)
            : TensorWorkspace.tilesOfC(problem, TensorWorkspace.SPLIT_TILE);
    long count = problem.batch().count();
    if (each * count * form.fewTiles() >= processors) {
      return 1;
    }
    long parts = Math.min((long) (processors / each), mostParts(form, problem.k()));
    return parts >= 2 * count ? parts : 1;
  }

  /** The largest number of parts into which K can be cut. */
  static long mostParts(TensorForm form, long k) {
    return Ceil.div(k, form.panel()) / LEAST_PART_PANELS;
  }

  /**
   * The number of parts into which K of a chunk is cut, at most {@code parts}; no part is empty.
   */
  static long partsOfChunk(TensorForm form, long k, long parts) {
    long panels = Ceil.div(k, form.panel());
    return parts == 1 ? 1 : Ceil.div(panels, partPanels(panels, parts));
  }

  private static long partPanels(long panels, long parts) {
    return Math.max(LEAST_PART_PANELS, Ceil.div(panels, parts));
  }

  /**
   * Tail columns of a product of DOUBLE, computed with split-K after the last full wave; no columns
   * if this is not expected to be faster.
   *
   * @param processors multiprocessors of the device
   */
  static MultiplyStrategy.Tensor.Rest rest(
      MultiplyProblem problem, KernelIndex.TileShape shape, int processors) {
    MultiplyStrategy.Tensor.Rest none = MultiplyStrategy.Tensor.Rest.NONE;
    long rowTiles = Ceil.div(rowsOfKernel(problem), shape.rows());
    long colTiles = Ceil.div(colsOfKernel(problem), shape.cols());
    long tiles = rowTiles * colTiles;
    if (problem.batch().count() > 1 || rowTiles > processors || tiles % processors == 0) {
      return none;
    }
    long wholeCols = tiles / processors * processors / rowTiles;
    long parts =
        Math.min(
            processors / (rowTiles * (colTiles - wholeCols)),
            mostParts(TensorForm.FLOAT64, problem.k()));
    if (wholeCols == 0 || parts < 2) {
      return none;
    }
    long panels = Ceil.div(problem.k(), TensorForm.FLOAT64.panel());
    MultiplyStrategy.Tensor.Rest rest =
        new MultiplyStrategy.Tensor.Rest(
            wholeCols * shape.cols(), Ceil.div(panels, partPanels(panels, parts)));
    double whole = Ceil.div(tiles, processors) * (double) problem.k();
    return restCost(problem, shape, rest, processors) <= WORTH_A_REST * whole ? rest : none;
  }

  /**
   * Estimated time of a product with a tail, in steps of K of a tile.
   *
   * @param shape shape of the kernel's tiles
   */
  static double restCost(
      MultiplyProblem problem,
      KernelIndex.TileShape shape,
      MultiplyStrategy.Tensor.Rest rest,
      int processors) {
    long tiles = Ceil.div(rowsOfKernel(problem), shape.rows()) * (rest.from() / shape.cols());
    double rounds = Ceil.div(tiles, processors) + 1.0 / rest.parts();
    return rounds * problem.k() + REST_STEPS;
  }

  /** Rows of C as the kernel for doubles counts them; it may compute the transpose of C. */
  static long rowsOfKernel(MultiplyProblem problem) {
    return TensorForm.FLOAT64.isExchanged(problem) ? problem.n() : problem.m();
  }

  /** Columns of C as the kernel for doubles counts them. */
  static long colsOfKernel(MultiplyProblem problem) {
    return TensorForm.FLOAT64.isExchanged(problem) ? problem.m() : problem.n();
  }
}
