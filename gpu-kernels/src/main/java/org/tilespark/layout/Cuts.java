package org.tilespark.layout;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A tiling of an array of any rank: each axis cut into parts, independently of the others. One part
 * of each axis together make a cell. Immutable.
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

  /**
   * What a box and a cell share.
   *
   * @param part number of the cell's part along each axis
   * @param box the shared elements, in elements of the whole array
   */
  public record Piece(List<Long> part, Box box) {}

  /** Takes the pieces of a box; both arrays are overwritten by the next piece. */
  @FunctionalInterface
  public interface PieceVisitor {
    /**
     * One piece.
     *
     * @param part number of its cell's part along each axis
     * @param low its first element along each axis
     * @param high its end, exclusive
     */
    void piece(long[] part, long[] low, long[] high);
  }

  /** Count of axes. */
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

  /** The pieces of a box, one for each cell that it touches, in row-major order of the cells. */
  public List<Piece> pieces(Box box) {
    List<Piece> pieces = new ArrayList<>();
    forEachPiece(
        box.offset(),
        box.sizes(),
        (part, low, high) ->
            pieces.add(new Piece(Arrays.stream(part).boxed().toList(), Box.between(low, high))));
    return pieces;
  }

  /**
   * As {@link #pieces}, for one block after the other without garbage.
   *
   * @param offset place of the block's first element
   * @param size its elements along each axis, 1 or more
   * @throws IndexOutOfBoundsException if the block is not all inside the array
   */
  public void forEachPiece(long[] offset, long[] size, PieceVisitor visitor) {
    PieceCursor cursor = new PieceCursor(this);
    cursor.start(offset, size);
    while (cursor.advance()) {
      visitor.piece(cursor.part(), cursor.low(), cursor.high());
    }
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
