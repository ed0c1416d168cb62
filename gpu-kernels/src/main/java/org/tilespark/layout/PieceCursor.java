package org.tilespark.layout;

import java.util.Arrays;
import java.util.List;

/**
 * Walks over the pieces into which {@link Cuts} cut a box, in row-major order of their cells, or
 * over the images of a box in the cells of {@link Images}. It may walk over one box after another.
 * For one thread.
 */
public final class PieceCursor {
  private final Walk[] axes;
  private final int rank;
  private final long[] boxSize;
  private final long[] part;
  private final long[] low;
  private final long[] high;
  private final long[] source;
  private final int[] step;
  private boolean started = true; // there is nothing to walk over yet
  private boolean done = true;

  /** A cursor over pieces, which stands on no box yet. */
  public PieceCursor(Cuts cuts) {
    this(new Walk[cuts.rank()]);
    Arrays.setAll(axes, axis -> new CutWalk(cuts.axis(axis)));
  }

  /** A cursor over images, which stands on no box yet. */
  public PieceCursor(Images images) {
    this(new Walk[images.axes().size()]);
    Arrays.setAll(axes, axis -> new ImageWalk(images.axes().get(axis)));
  }

  private PieceCursor(Walk[] axes) {
    this.axes = axes;
    this.rank = axes.length;
    this.boxSize = new long[rank];
    this.part = new long[rank];
    this.low = new long[rank];
    this.high = new long[rank];
    this.source = new long[rank];
    this.step = new int[rank];
  }

  /**
   * Starts another box; {@link #advance} moves to its first piece.
   *
   * @param offset index of the box's first element in the array, one number per axis
   * @param size number of the box's elements along each axis, 1 or more
   * @throws IndexOutOfBoundsException if the box is not all inside the array
   */
  public void start(long[] offset, long[] size) {
    for (int axis = 0; axis < rank; axis++) {
      boxSize[axis] = size[axis];
      axes[axis].start(offset[axis], offset[axis] + size[axis]);
    }
    started = false;
    done = false;
  }

  /** Moves to the next piece; false if there is none left. */
  public boolean advance() {
    int axis = started ? rank - 1 : -1;
    while (axis >= 0 && !done && !axes[axis].next()) {
      axis--;
    }
    done |= started && axis < 0;
    for (int inner = axis + 1; inner < rank && !done; inner++) {
      done = !axes[inner].first();
    }
    started = true;
    for (int each = Math.max(0, axis); each < rank && !done; each++) {
      Walk walk = axes[each];
      part[each] = walk.part;
      low[each] = walk.low;
      high[each] = walk.high;
      source[each] = walk.source;
      step[each] = walk.step;
    }
    return !done;
  }

  /** True if the current piece is the whole box, in its order. */
  public boolean isWholeBox() {
    boolean isWhole = true;
    for (int axis = 0; axis < rank; axis++) {
      isWhole &= high[axis] - low[axis] == boxSize[axis] && step[axis] == 1;
    }
    return isWhole;
  }

  /** Number of the current piece's cell along each axis; overwritten by {@link #advance}. */
  public long[] part() {
    return part;
  }

  /** First element of the current piece along each axis; overwritten by {@link #advance}. */
  public long[] low() {
    return low;
  }

  /** End of the current piece along each axis, exclusive; overwritten by {@link #advance}. */
  public long[] high() {
    return high;
  }

  /**
   * The index along each axis of the box's element that {@link #low} comes from; overwritten by
   * {@link #advance}.
   */
  public long[] source() {
    return source;
  }

  /**
   * The step along each axis, in elements of the box, from one element of the piece to the next: 1,
   * or as in {@link AxisImages.Image}; overwritten by {@link #advance}.
   */
  public int[] step() {
    return step;
  }

  /** A walk over the pieces along one axis. */
  private abstract static class Walk {
    long part;
    long low;
    long high;
    long source;
    int step;

    /** Begins a walk over the range {@code from} to {@code to}, exclusive. */
    abstract void start(long from, long to);

    /** Moves to the first piece of the range; false if there is none. */
    abstract boolean first();

    /** Moves to the next piece; false if there is none left. */
    abstract boolean next();
  }

  private static final class CutWalk extends Walk {
    private final AxisCuts cuts;
    private long from;
    private long to;
    private long firstPart;

    CutWalk(AxisCuts cuts) {
      this.cuts = cuts;
      this.step = 1;
    }

    @Override
    void start(long from, long to) {
      this.from = from;
      this.to = to;
      cuts.part(to - 1);
      firstPart = cuts.part(from);
    }

    @Override
    boolean first() {
      moveTo(firstPart);
      return true;
    }

    @Override
    boolean next() {
      if (high == to) {
        return false;
      }
      moveTo(part + 1);
      return true;
    }

    private void moveTo(long next) {
      part = next;
      low = Math.max(from, cuts.low(next));
      high = Math.min(to, cuts.high(next));
      source = low;
    }
  }

  private static final class ImageWalk extends Walk {
    private final AxisImages axis;
    private List<AxisImages.Image> images = List.of();
    private int at;

    ImageWalk(AxisImages axis) {
      this.axis = axis;
    }

    @Override
    void start(long from, long to) {
      if (from < 0 || to > axis.extent()) {
        throw new IndexOutOfBoundsException(
            "Elements " + from + " to " + to + " of an axis of " + axis.extent());
      }
      images = axis.of(from, to);
    }

    @Override
    boolean first() {
      at = -1;
      return next();
    }

    @Override
    boolean next() {
      if (at + 1 >= images.size()) {
        return false;
      }
      AxisImages.Image image = images.get(++at);
      part = image.part();
      low = image.low();
      high = image.high();
      source = image.source();
      step = image.step();
      return true;
    }
  }
}
