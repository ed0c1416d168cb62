package org.tilespark.spark.block;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;
import org.tilespark.spark.options.Missing;

/**
 * A list of the boxes of blocks, or of parts of blocks, and the check that they tile the array. It
 * takes 16 bytes for each axis of each box. Not for several threads at once.
 */
public final class BoxList {
  private final int rank;
  private final int length; // numbers that describe one box
  private long[] boxes = new long[0]; // (count, 2, rank): offsets, then sizes
  private int count;

  public BoxList(int rank) {
    this.rank = rank;
    this.length = 2 * rank;
  }

  public void clear() {
    count = 0;
  }

  public int count() {
    return count;
  }

  public void add(long[] offset, long[] size) {
    int at = room(1);
    System.arraycopy(offset, 0, boxes, at, rank);
    System.arraycopy(size, 0, boxes, at + rank, rank);
  }

  /** Adds a box: its offsets, then its sizes. */
  public void add(long... box) {
    int at = room(1);
    System.arraycopy(box, 0, boxes, at, length);
  }

  /** Adds the boxes of another list. */
  public void add(BoxList others) {
    int more = others.count;
    int at = room(more);
    System.arraycopy(others.boxes, 0, boxes, at, length * more);
  }

  /**
   * Makes room for {@code more} further boxes, counts them, and returns the index of their first
   * number.
   */
  private int room(int more) {
    int at = length * count;
    int needed = Math.multiplyExact(length, Math.addExact(count, more));
    if (needed > boxes.length) {
      int larger = (int) Math.min(2L * boxes.length, 1 << 30);
      boxes = Arrays.copyOf(boxes, Math.max(needed, Math.max(16 * length, larger)));
    }
    count += more;
    return at;
  }

  /** A copy of all boxes, (count, 2, rank): each has its offset, then its sizes. */
  public long[] toArray() {
    return Arrays.copyOf(boxes, length * count);
  }

  /** For each axis, the end of the box that reaches farthest along it. */
  public long[] reached() {
    long[] extents = new long[rank];
    for (int box = 0; box < length * count; box += length) {
      for (int axis = 0; axis < rank; axis++) {
        long end = boxes[box + axis] + boxes[box + rank + axis];
        extents[axis] = Math.max(extents[axis], end);
      }
    }
    return extents;
  }

  /**
   * Checks that each element of the array is in one block.
   *
   * @param mayHaveHoles true if elements may be in no block
   * @throws IllegalArgumentException that names the place of the first defect
   */
  public void check(long[] extents, BlockKind kind, boolean mayHaveHoles, String operator) {
    String advice = " (" + Missing.HELP + "); " + StaleMetadata.HELP;
    Optional<String> defect =
        Coverage.defect(ArrayAxes.of(kind), extents, toArray(), mayHaveHoles, advice);
    if (defect.isPresent()) {
      throw new IllegalArgumentException(defect.get() + " (in " + operator + ")");
    }
  }

  /** Number of bytes that {@link #putInto} writes. */
  public long bytes() {
    return Integer.BYTES + (long) Long.BYTES * length * count;
  }

  /** Writes the boxes for {@link #takeFrom}. */
  public void putInto(ByteBuffer buffer) {
    buffer.putInt(count);
    buffer.asLongBuffer().put(boxes, 0, length * count);
    buffer.position(buffer.position() + Long.BYTES * length * count);
  }

  /** Adds the boxes that {@link #putInto} wrote. */
  public void takeFrom(ByteBuffer buffer) {
    int more = buffer.getInt();
    int at = room(more);
    buffer.asLongBuffer().get(boxes, at, length * more);
    buffer.position(buffer.position() + Long.BYTES * length * more);
  }

  /**
   * Checks that each element of the part of an array that begins at {@code low} is in one box.
   *
   * @param mayHaveHoles true if elements in no box count as zeros
   * @throws IllegalArgumentException that names the first element in no box or in two
   */
  public void check(
      long[] low, long[] size, BlockKind kind, boolean mayHaveHoles, String operator) {
    long[] high = new long[rank];
    Arrays.setAll(high, axis -> low[axis] + size[axis]);
    long[] found = toArray();
    Coverage.check(
        low,
        high,
        found,
        new Coverage.Findings() {
          @Override
          public boolean hole(long[] from, long[] to) {
            if (mayHaveHoles) {
              return true;
            }
            long[] extent = new long[rank];
            Arrays.setAll(extent, axis -> to[axis] - from[axis]);
            throw bad(
                kind,
                from,
                "no block of the input holds the %s elements from there; expected each element in one block (%s); %s"
                    .formatted(Coverage.sizeText(extent), Missing.HELP, StaleMetadata.HELP),
                operator);
          }

          @Override
          public boolean overlap(int first, int second) {
            throw bad(
                kind,
                Coverage.sharedElement(rank, found, first, second),
                ("two blocks of the input hold the element there: they share the"
                        + " pieces %s and %s with the target %s; expected each element in one"
                        + " block")
                    .formatted(
                        Coverage.describe(ArrayAxes.of(kind), found, Math.min(first, second)),
                        Coverage.describe(ArrayAxes.of(kind), found, Math.max(first, second)),
                        kind.describe(low)),
                operator);
          }
        });
  }

  public static IllegalArgumentException bad(
      BlockKind kind, long[] place, String defect, String operator) {
    return new IllegalArgumentException(
        kind.describe(place) + ": " + defect + " (in " + operator + ")");
  }
}
