package org.tilespark.spark.block;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Optional;

/**
 * The places of the blocks that an aggregate met, for the check that they tile the array: 16 bytes
 * for each axis of each block. Not for several threads at once.
 */
public final class BlockBoxes {
  private final BlockKind kind;
  private final int length; // numbers of a box: offsets, then sizes
  private long[] boxes;
  private int count;

  public BlockBoxes(BlockKind kind) {
    this.kind = kind;
    this.length = 2 * kind.rank();
    this.boxes = new long[length * 16];
  }

  /** Adds a block: its offsets, then its sizes. */
  public void add(long... box) {
    add(box, 1);
  }

  /** Adds what another aggregate met. */
  public void add(BlockBoxes others) {
    add(others.boxes, others.count);
  }

  private void add(long[] more, int moreCount) {
    int needed = Math.multiplyExact(length, Math.addExact(count, moreCount));
    if (needed > boxes.length) {
      boxes = Arrays.copyOf(boxes, Math.max(needed, (int) Math.min(2L * boxes.length, 1 << 30)));
    }
    System.arraycopy(more, 0, boxes, length * count, length * moreCount);
    count += moreCount;
  }

  /** Where the array ends along each axis, as far as these blocks tell. */
  public long[] reached() {
    long[] extents = new long[length / 2];
    for (int box = 0; box < length * count; box += length) {
      for (int axis = 0; axis < extents.length; axis++) {
        long end = boxes[box + axis] + boxes[box + extents.length + axis];
        extents[axis] = Math.max(extents[axis], end);
      }
    }
    return extents;
  }

  /**
   * Checks that each element of the array is in one block.
   *
   * @param mayHaveHoles true if elements may be in none
   * @throws IllegalArgumentException that names the first defect's place
   */
  public void check(long[] extents, boolean mayHaveHoles, String operator) {
    Optional<String> defect =
        Coverage.defect(kind, extents, Arrays.copyOf(boxes, length * count), mayHaveHoles);
    if (defect.isPresent()) {
      throw new IllegalArgumentException(defect.get() + " (in " + operator + ")");
    }
  }

  /** What {@link #putInto} takes. */
  public long bytes() {
    return Integer.BYTES + (long) Long.BYTES * length * count;
  }

  /** Writes it for {@link #takeFrom}. */
  public void putInto(ByteBuffer buffer) {
    buffer.putInt(count);
    buffer.asLongBuffer().put(boxes, 0, length * count);
    buffer.position(buffer.position() + Long.BYTES * length * count);
  }

  /** Adds what {@link #putInto} wrote. */
  public void takeFrom(ByteBuffer buffer) {
    int moreCount = buffer.getInt();
    long[] more = new long[length * moreCount];
    buffer.asLongBuffer().get(more);
    buffer.position(buffer.position() + Long.BYTES * more.length);
    add(more, moreCount);
  }
}
