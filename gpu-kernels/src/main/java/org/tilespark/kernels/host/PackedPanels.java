package org.tilespark.kernels.host;

import java.util.function.IntConsumer;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.kernels.multiply.MultiplyProblem.Factors;

/**
 * Working memory of one call to multiply: packed panels of A and B, and sums of a tile of C, of one
 * element type. Arrays grow to what is needed and are kept.
 *
 * <p>A panel of A holds {@code rows} rows, step by step; a panel of B holds {@code cols} columns.
 * The tile is cut into consecutive micro tiles of (rows, cols); each micro tile is the product of a
 * panel of A and a panel of B. Used by one thread.
 */
abstract class PackedPanels {
  private static final int CACHE_LINE = 64;

  final int rows;
  final int cols;
  final int bytes; // of an element

  /**
   * Index of the first element in panels of B and in sums: it starts a cache line if the array
   * itself does, as large arrays of the G1 collector do. CPUs read vectors that straddle two lines
   * at half the rate.
   */
  final int first;

  PackedPanels(int rows, int cols, int bytes) {
    this.rows = rows;
    this.cols = cols;
    this.bytes = bytes;
    this.first =
        (int) (Ceil.to(Packing.baseOffset(bytes), CACHE_LINE) - Packing.baseOffset(bytes)) / bytes;
  }

  /**
   * Makes room for the panels of some steps of a block's rows and a tile's columns, and for sums.
   *
   * @param groups number of groups of steps; with more than one, the sums that a group leaves for
   *     the next take room for the whole tile
   */
  abstract void reserve(int tileRows, int tileCols, int blockRows, int steps, long groups);

  /** The number of elements of the panels of A for a block. */
  final int elementsA(int blockRows, int steps) {
    return Math.toIntExact(Ceil.to(blockRows, rows) * steps);
  }

  /** The number of elements up to the end of the panels of B for a tile. */
  final int elementsB(int tileCols, int steps) {
    return Math.toIntExact(first + Ceil.to(tileCols, cols) * steps);
  }

  /** The array of the panels of A. */
  abstract Object a();

  /** The array of the panels of B, which begin at {@link #first}. */
  abstract Object b();

  /**
   * An array for the {@link Packing#PIECES_BYTES} bytes of an operand that are copied into panels.
   */
  abstract Object pieces();

  /** The array with the micro tile of C that {@link #scale} computed, (rows, cols). */
  abstract Object result();

  /** The array for the former contents of C, (rows, cols), which {@link #scale} reads. */
  abstract Object before();

  /**
   * Multiplies the first panels of A by one of B and adds the products to the sums of micro tiles.
   * The last group leaves the sums of these micro tiles, in their order, for {@link #scale}.
   *
   * @param tiles how many panels of A are multiplied; each gives one micro tile
   * @param fromB index of the first element of B's panel in {@link #b}
   * @param steps steps of the panels, and how they are summed
   * @param at index in a tile's sums of the first micro tile's first element
   * @param summed called with the number of a micro tile once its sums are complete
   */
  abstract void multiply(int tiles, int fromB, Steps steps, int at, IntConsumer summed);

  /**
   * A group of steps of K that is packed together.
   *
   * @param chain steps of a chain
   * @param near whole chains of a panel of B that stay in the first-level cache while panels of A
   *     pass; sums do not depend on it
   * @param number number of the group, from 0
   * @param isLast true if no group follows
   */
  record Steps(int count, int chain, int near, int number, boolean isLast) {}

  /**
   * Fills {@link #result} with alpha times a micro tile's sums, plus beta times {@link #before}.
   *
   * @param at index of the micro tile's first element in the sums that {@link #multiply} left
   */
  abstract void scale(int at, Factors factors);

  /** The number of elements of the micro tiles that cover a matrix. */
  long padded(long rows, long cols) {
    return Ceil.div(rows, this.rows) * this.rows * Ceil.div(cols, this.cols) * this.cols;
  }

  /**
   * Index in the sums of the micro tile whose first row is {@code i} and first column {@code j}.
   *
   * @param tileRows rows of the tile of which the micro tile is a part
   */
  int index(int tileRows, int i, int j) {
    int down = (tileRows + rows - 1) / rows;
    return first + (j / cols * down + i / rows) * rows * cols;
  }
}
