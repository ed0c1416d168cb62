package org.tilespark.kernels.host;

/**
 * Multiplies a packed panel of A by a packed panel of B: the innermost loop of products of floats.
 * Stateless.
 */
abstract class FloatKernel {
  /** Rows of a micro tile, the part of C that one call makes: those of a panel of A. */
  final int rows;

  /** Columns of a micro tile: those of a panel of B. */
  final int cols;

  FloatKernel(int rows, int cols) {
    this.rows = rows;
    this.cols = cols;
  }

  /** The fastest kernel on a CPU like {@code profile}. */
  static FloatKernel of(HostProfile profile) {
    if (profile.vectorBits() == 0) {
      return new FloatScalars4x4();
    }
    return profile.registers() < 32 ? new FloatVectors4x2() : new FloatVectors8x2();
  }

  /**
   * Adds the product of {@code steps} steps to a micro tile of {@code panels.part}, (rows, cols),
   * chain by chain: a chain is a sequence of fused multiply-adds for one element that begins with
   * zero.
   *
   * @param fromA index in {@code panels.a} of the first step's numbers
   * @param fromB index in {@code panels.b} of the first step's numbers
   * @param chain steps of a chain; the last may have fewer
   * @param to index in {@code panels.part} of the micro tile
   */
  abstract void chains(FloatPanels panels, int fromA, int fromB, int steps, int chain, int to);

  /**
   * Adds {@code elements} elements of {@code panels.part}, from index {@code in} on, to those of
   * {@code panels.group} with the same indices.
   */
  abstract void addPart(FloatPanels panels, int in, int elements);

  /**
   * Adds the first elements of {@code panels.group}, whole micro tiles, to {@code panels.sum} from
   * index {@code at} on, and the rounding errors of these additions to {@code panels.error}
   * (Knuth's two-sum). For the last group the sums go to {@code panels.group} and the errors to
   * {@code panels.part} instead.
   *
   * @param steps the group's number and size; {@code panels.error} holds nothing before the second
   *     group
   */
  abstract void addGroup(
      FloatPanels panels, int in, int elements, int at, PackedPanels.Steps steps);

  /**
   * Fills {@code panels.result} with the sums of a micro tile of {@code panels.group} and its
   * errors in {@code panels.part}.
   *
   * @param in index of the micro tile's first element in both arrays
   * @return true if all these sums are finite
   */
  abstract boolean addErrors(FloatPanels panels, int in);
}
