package org.tilespark.spark.multiply.scores;

/**
 * The size of the tiles that a task reduces: small enough that a tile stays in the caches, and that
 * the results for its rows take little memory.
 *
 * @param rows most queries
 * @param cols most vectors with which they are compared at a time
 */
public record TileSides(int rows, int cols) {
  private static final TileSides SMALL = new TileSides(1024, 4096);
  private static final TileSides LARGE = new TileSides(4096, 8192);
  private static final long PANEL_BYTES = 32L << 20; // of the vectors of a tile's rows or columns
  private static final long CANDIDATE_BYTES = 64L << 20;

  /**
   * The size of the tiles for a reduction.
   *
   * @param extent elements of a vector
   * @param elementBytes bytes of an element
   * @param large true if a device with enough memory computes the tiles: each tile costs kernel
   *     launches and waits, so fewer and larger ones are better
   */
  public static TileSides of(Reduction reduction, long extent, int elementBytes, boolean large) {
    TileSides most = large ? LARGE : SMALL;
    long vectors = Math.max(1, PANEL_BYTES / elementBytes / Math.max(1, extent));
    long kept = Math.max(1, CANDIDATE_BYTES / Math.max(1, reduction.candidateBytes()));
    return new TileSides(
        (int) Math.min(Math.min(most.rows, vectors), kept), (int) Math.min(most.cols, vectors));
  }
}
