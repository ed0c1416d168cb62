package org.tilespark.kernels.plan;

/**
 * Into how many parts K is cut, so that few tiles of C occupy all multiprocessors of a device
 * (known as split-K): all of C, or, of doubles, the last columns of tiles alone. Pure functions.
 */
final class PartsOfK {
  /** Panels of a part of K at least: fewer do not fill the stages of shared memory. */
  private static final long LEAST_PART_PANELS = 4;

  /** Teams of a thread block: each makes tiles of doubles of its own. */
  private static final int TEAMS = 2;

  /**
   * Steps of K that take as long as another product and the sums of its parts, estimated, and what
   * is to be saved. At 1536 x 1536 x 1536 and 2560 x 2560 x 2560 a rest made apart took 0.78 to
   * 0.92 times as long as halves on an H200; at 2304 and 3072, which save less, 0.98 to 1.01.
   */
  private static final double REST_STEPS = 128;

  private static final double WORTH_A_REST = 0.95;

  /** Teams of a thread block that make a tile together, each of half of K. */
  static final int HALVES = 2;

  private PartsOfK() {}

  /**
   * Into how many parts K is cut: where tiles of all products are fewer than that part of the
   * multiprocessors, {@link TensorForm#fewTiles}, so many that those of one product occupy all, of
   * four panels at least. Products that are cut go one after the other, which must be worth it.
   *
   * @param processors multiprocessors of the device
   */
  static long parts(TensorForm form, MultiplyProblem problem, int processors) {
    double each = TensorWorkspace.tilesOfC(problem, TensorWorkspace.SPLIT_TILE);
    long count = problem.batch().count();
    if (each * count * form.fewTiles() >= processors) {
      return 1;
    }
    long parts = Math.min((long) (processors / each), mostParts(form, problem.k()));
    return parts >= 2 * count ? parts : 1;
  }

  /** True if K is long enough for a kernel that makes a tile of two halves of K. */
  static boolean canHalve(TensorForm form, long k) {
    return mostParts(form, k) >= HALVES;
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
   * What of a product of doubles is made apart, in parts of K, where tiles are some rounds, two for
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
    long atOnce = (long) TEAMS * processors;
    if (problem.batch().count() > 1 || rowTiles > atOnce || rowTiles * colTiles % atOnce == 0) {
      return none;
    }
    long firstTiles = rowTiles * colTiles / atOnce * atOnce / rowTiles;
    long parts =
        Math.min(
            Math.min(processors, atOnce / (rowTiles * (colTiles - firstTiles))),
            mostParts(TensorForm.FLOAT64, problem.k()));
    if (firstTiles == 0 || parts < 2) {
      return none;
    }
    long panels = Ceil.div(problem.k(), TensorForm.FLOAT64.panel());
    MultiplyStrategy.Tensor.Rest rest =
        new MultiplyStrategy.Tensor.Rest(
            firstTiles * shape.cols(), Ceil.div(panels, partPanels(panels, parts)));
    double whole = Math.ceil(rowTiles * colTiles / (double) processors) * problem.k();
    return restCost(problem, shape, rest, processors) <= WORTH_A_REST * whole ? rest : none;
  }

  /**
   * Steps of K that a multiprocessor takes for a product with a rest.
   *
   * @param shape of the kernel's tiles
   */
  static double restCost(
      MultiplyProblem problem,
      KernelIndex.TileShape shape,
      MultiplyStrategy.Tensor.Rest rest,
      int processors) {
    long tiles = Ceil.div(rowsOfKernel(problem), shape.rows()) * (rest.from() / shape.cols());
    double rounds = Math.ceil(tiles / (TEAMS * (double) processors));
    return TEAMS * (rounds + 1.0 / rest.parts()) * problem.k() + REST_STEPS;
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
