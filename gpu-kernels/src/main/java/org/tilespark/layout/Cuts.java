package org.tilespark.layout;

import java.io.Serializable;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * A tiling of an array of any rank: each axis cut into parts, independently of the others. A cell
 * is the product of one part of each axis. Immutable.
 */
public final class Cuts implements Serializable {
  private final AxisCuts[] axes;

  private Cuts(AxisCuts[] axes) {
    this.axes = axes;
  }

  /** The cuts of each axis, outermost axis first. */
  public static Cuts of(AxisCuts... axes) {
    return new Cuts(axes.clone());
  }

  /** The number of axes. */
  public int rank() {
    return axes.length;
  }

  /** The cuts of one axis. */
  public AxisCuts axis(int axis) {
    return axes[axis];
  }

  /**
   * Count of cells.
   *
   * @throws ArithmeticException if it exceeds 2^63 - 1
   */
  public long cells() {
    long cells = 1;
    for (AxisCuts axis : axes) {
      cells = Math.multiplyExact(cells, axis.parts());
    }
    return cells;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof Cuts other && Arrays.equals(axes, other.axes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(axes);
  }

  @Override
  public String toString() {
    return Arrays.stream(axes).map(AxisCuts::toString).collect(Collectors.joining(" x "));
  }
}
