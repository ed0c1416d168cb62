package org.tilespark.layout;

import java.util.Arrays;

/**
 * Walks over the pieces that {@link Cuts} make of one box after the other, in row-major order of
 * their cells. For one thread.
 */
public final class PieceCursor {
  private final Cuts cuts;
  private final int rank;
  private final long[] boxLow;
  private final long[] boxHigh;
  private final long[] firstPart;
  private final long[] part;
  private final long[] low;
  private final long[] high;
  private boolean started;

  /** A cursor that stands on no box yet. */
  public PieceCursor(Cuts cuts) {
    this.cuts = cuts;
    this.rank = cuts.rank();
    this.boxLow = new long[rank];
    this.boxHigh = new long[rank];
    this.firstPart = new long[rank];
    this.part = new long[rank];
    this.low = new long[rank];
    this.high = new long[rank];
    this.started = true; // nothing to walk over
    Arrays.fill(high, -1);
  }

  /**
   * Begins with another box; {@link #advance} moves to its first piece.
   *
   * @param offset place of its first element
   * @param size elements along each axis, 1 or more
   * @throws IndexOutOfBoundsException if the box is not all inside the array
   */
  public void start(long[] offset, long[] size) {
    for (int axis = 0; axis < rank; axis++) {
      boxLow[axis] = offset[axis];
      boxHigh[axis] = offset[axis] + size[axis];
      cuts.axis(axis).part(boxHigh[axis] - 1);
      firstPart[axis] = cuts.axis(axis).part(offset[axis]);
    }
    started = false;
  }

  /** Moves to the next piece; false if there is none left. */
  public boolean advance() {
    int axis = rank - 1;
    if (!started) {
      started = true;
      for (int each = 0; each < rank; each++) {
        moveTo(each, firstPart[each]);
      }
      return true;
    }
    while (axis >= 0) {
      if (high[axis] >= 0 && high[axis] < boxHigh[axis]) {
        moveTo(axis, part[axis] + 1);
        for (int inner = axis + 1; inner < rank; inner++) {
          moveTo(inner, firstPart[inner]);
        }
        return true;
      }
      axis--;
    }
    return false;
  }

  /** True if the current piece is the whole box. */
  public boolean isWholeBox() {
    return Arrays.equals(low, boxLow) && Arrays.equals(high, boxHigh);
  }

  /** Number of the current piece's cell along each axis; overwritten by {@link #advance}. */
  public long[] part() {
    return part;
  }

  /** First element of the current piece; overwritten by {@link #advance}. */
  public long[] low() {
    return low;
  }

  /** End of the current piece, exclusive; overwritten by {@link #advance}. */
  public long[] high() {
    return high;
  }

  private void moveTo(int axis, long to) {
    AxisCuts axisCuts = cuts.axis(axis);
    part[axis] = to;
    low[axis] = Math.max(boxLow[axis], axisCuts.low(to));
    high[axis] = Math.min(boxHigh[axis], axisCuts.high(to));
  }
}
