package org.tilespark.kernels.host;

/**
 * Multiplies a packed panel of A by some packed panels of B: the innermost loop of products of
 * doubles. Stateless.
 */
abstract class DoubleKernel {
  /** Rows of the part of C that one call makes: those of a panel of A. */
  final int rows;

  /** Elements between neighbouring steps of a panel of A, at least {@code rows}. */
  final int pitch;

  /** Panels of B that are multiplied together. */
  final int panelsB;

  /** Columns of a panel of B, whose steps lie one behind the other. */
  final int lanes;

  DoubleKernel(int rows, int pitch, int panelsB, int lanes) {
    this.rows = rows;
    this.pitch = pitch;
    this.panelsB = panelsB;
    this.lanes = lanes;
  }

  /** The fastest on a CPU like {@code profile}. */
  static DoubleKernel of(HostProfile profile) {
    if (profile.vectorBits() == 0) {
      return new DoubleScalars4x4();
    }
    return profile.registers() < 32 ? new DoubleVectors5x2() : new DoubleVectors8x3();
  }

  /**
   * Adds the product of {@code steps} steps to {@code panels.part}, (rows, panelsB * lanes): each
   * element is one chain of fused multiply-adds that begins with zero.
   *
   * @param fromA index in {@code panels.a} of the first step
   * @param fromB index in {@code panels.b} of the first panel's first step
   * @param apart elements from one panel of B to the next
   */
  abstract void chain(DoublePanels panels, int fromA, int fromB, int steps, int apart);

  /**
   * Adds {@code panels.part} to the micro tile of {@code panels.sum} at an index, and what that
   * loses to {@code panels.error} (Knuth's two-sum).
   */
  abstract void addPart(DoublePanels panels, int at);
}
