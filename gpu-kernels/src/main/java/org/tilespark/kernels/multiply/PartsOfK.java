package org.tilespark.kernels.multiply;

import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.launch.KernelIndex;

/**
 * Into how many parts K is cut, so that few tiles of C occupy all multiprocessors of a device
 * (known as split-K): all of C, or, of doubles, the last columns of tiles alone. Pure functions.
 *
 * <p>The count of parts follows the count of multiprocessors, so the last bits of these products
 * differ between a card of 132 and one of 114. A count that suits all cards would leave up to half
 * of the larger ones idle; README says which products it concerns.
 */
final class PartsOfK {
  /** Panels of a part of K at least: fewer do not fill the stages of shared memory. */
  private static final long LEAST_PART_PANELS = 4;

  /** Tiles that two teams make together, as the kernel for doubles counts them. */
  private static final int DOUBLE_ROWS = 64;

  private static final int DOUBLE_COLS = 128;

  /**
   * Steps of K of a tile that take as long as another product and the sums of its parts, estimated,
   * and what is to be saved.
   */
  private static final double REST_STEPS = 128;

  private static final double WORTH_A_REST = 0.95;

  private PartsOfK() {}

  /**
   * Into how many parts K is cut: where tiles of all products are fewer than that part of the
   * multiprocessors, {@link TensorForm#fewTiles}, so many that those of one product occupy all, of
   * four panels at least. Products that are cut go one after the other, which must be worth it.
   * Kernels with other tiles have the same parts, and so the same bits.
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

  /** Into how many parts K can be cut. */
  static long mostParts(TensorForm form, long k) {
    return Ceil.div(k, form.panel()) / LEAST_PART_PANELS;
  }

  /** Into how many parts K of a chunk is cut, of {@code parts} wanted; none is empty. */
  static long partsOfChunk(TensorForm form, long k, long parts) {
    long panels = Ceil.div(k, form.panel());
    return parts == 1 ? 1 : Ceil.div(panels, partPanels(panels, parts));
  }

  private static long partPanels(long panels, long parts) {
    return Math.max(LEAST_PART_PANELS, Ceil.div(panels, parts));
  }

  /**
   * What of a product of doubles is made apart, in parts of K, where tiles are some rounds, one for
   * each multiprocessor, and a few more: the last columns of tiles, if that is expected to be worth
   * it.
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
   * Steps of K of tiles that a multiprocessor takes for a product with a rest.
   *
   * @param shape of the kernel's tiles
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

  /** Rows of C as the kernel for doubles counts them. */
  static long rowsOfKernel(MultiplyProblem problem) {
    return TensorForm.FLOAT64.isExchanged(problem) ? problem.n() : problem.m();
  }

  /** Columns of C, the same. */
  static long colsOfKernel(MultiplyProblem problem) {
    return TensorForm.FLOAT64.isExchanged(problem) ? problem.m() : problem.n();
  }
}
