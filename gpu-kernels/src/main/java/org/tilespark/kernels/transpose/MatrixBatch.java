package org.tilespark.kernels.transpose;

import java.util.List;

/**
 * Two-dimensional transposes of one size, one for each step of the outer axes: {@code out[o][j][i]
 * = in[o][i][j]}, with any strides except the two innermost, which are 1. Immutable.
 *
 * @param elementBytes width of one element as moved; an innermost axis of a few bytes that stays in
 *     place is part of the element
 * @param rows extent of the input axis that becomes innermost
 * @param cols extent of the input's innermost axis
 * @param inRowStride elements between neighbours along {@code rows} in the input
 * @param outRowStride elements between neighbours along {@code cols} in the output
 * @param outer the other axes in output order, outermost first
 */
public record MatrixBatch(
    int elementBytes, long rows, long cols, long inRowStride, long outRowStride, List<Axis> outer) {
  /** Index in {@link #tileWords} of the number of tiles; the next constant is that of the order. */
  public static final int TILES_WORD = 4;

  public static final int COLS_FIRST_WORD = 7;

  /** Number of words that {@link #tileWords} gives. */
  static final int TILE_WORDS = COLS_FIRST_WORD + 1 + 3 * TransposeStrategy.MAX_OUTER;

  /** Copies the list. */
  public MatrixBatch {
    outer = List.copyOf(outer);
  }

  /**
   * Describes {@code move} as a batch of transposes between two axes.
   *
   * @param rowAxis the axis that is contiguous in the output
   * @param colAxis another axis, which is contiguous in the input
   */
  public static MatrixBatch of(Move move, int rowAxis, int colAxis) {
    Axis rows = move.axes().get(rowAxis);
    Axis cols = move.axes().get(colAxis);
    return new MatrixBatch(
        move.elementBytes(),
        rows.extent(),
        cols.extent(),
        rows.inStride(),
        cols.outStride(),
        move.without(rowAxis, colAxis));
  }

  /** The number of matrices. */
  public long count() {
    long count = 1;
    for (Axis axis : outer) {
      count = Math.multiplyExact(count, axis.extent());
    }
    return count;
  }

  /** The number of elements in a vector of {@code bytes} bytes, at least 1. */
  public int perVector(int bytes) {
    return Math.max(1, bytes / elementBytes);
  }

  /**
   * True if all strides are multiples of {@code elements}, so that all rows are aligned if the
   * buffers are aligned.
   */
  public boolean stridesAreMultiplesOf(int elements) {
    return inRowStride % elements == 0
        && outRowStride % elements == 0
        && outer.stream()
            .allMatch(axis -> axis.inStride() % elements == 0 && axis.outStride() % elements == 0);
  }

  /**
   * The words of the argument struct of the tile kernels, after the two pointers.
   *
   * @param rowTiles number of tiles along {@code rows}
   * @param colTiles number of tiles along {@code cols}
   * @param order order of the tiles that neighbouring thread blocks take
   */
  public long[] tileWords(long rowTiles, long colTiles, TileOrder order) {
    long[] words = new long[TILE_WORDS];
    words[0] = rows;
    words[1] = cols;
    words[2] = inRowStride;
    words[3] = outRowStride;
    words[TILES_WORD] = tiles(rowTiles, colTiles);
    words[5] = rowTiles;
    words[6] = colTiles;
    words[COLS_FIRST_WORD] = order == TileOrder.COLS_FIRST ? 1 : 0;
    TransposeStrategy.putOuter(words, COLS_FIRST_WORD + 1, outer);
    return words;
  }

  /** The number of tiles of all matrices. */
  public long tiles(long rowTiles, long colTiles) {
    return Math.multiplyExact(Math.multiplyExact(rowTiles, colTiles), count());
  }

  @Override
  public String toString() {
    long count = count();
    return (count == 1 ? "" : count + " x ") + rows + " x " + cols;
  }
}
