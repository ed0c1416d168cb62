package org.tilespark.spark.source;

import java.io.Serializable;
import org.tilespark.layout.Shape;

/**
 * The regular chunks into which a stored array is cut. Immutable.
 *
 * @param extents extents of the array
 * @param chunk elements along each axis of a chunk; chunks at the far edges extend beyond the array
 */
public record ChunkGrid(Shape extents, Shape chunk) implements Serializable {
  /** Bytes from which a chunk is a block: it is then decoded straight into the block's memory. */
  private static final int LARGE_CHUNK_BYTES = 8 << 20;

  /** Is called for each chunk that a box meets. */
  @FunctionalInterface
  public interface Visitor {
    /**
     * Takes one chunk.
     *
     * @param place the chunk's number along each axis; valid during the call
     */
    void visit(long[] place) throws java.io.IOException;
  }

  /**
   * The usual shape of a block: one large chunk, or as many as make a block of some MiB.
   *
   * @param group elements along each axis of a group of chunks that are stored together, of one
   *     chunk if each is stored separately; a block divides a group or consists of whole groups
   * @param bytes bytes of an element in the columns
   */
  Shape usualBlock(Shape group, int bytes) {
    int rank = extents.rank();
    long[] block = chunk.toArray();
    double size = bytes;
    for (int axis = 0; axis < rank; axis++) {
      block[axis] = Math.max(1, Math.min(block[axis], extents.extent(axis)));
      size *= block[axis];
    }
    if (size >= LARGE_CHUNK_BYTES) {
      return Shape.of(block);
    }
    long budget = BlockGrid.usualBytes(extents, bytes);
    boolean[] closed = new boolean[rank];
    while (true) {
      int shortest = -1;
      for (int axis = 0; axis < rank; axis++) {
        boolean open = !closed[axis] && block[axis] < extents.extent(axis);
        if (open && (shortest < 0 || block[axis] < block[shortest])) {
          shortest = axis;
        }
      }
      if (shortest < 0) {
        return Shape.of(block);
      }
      long next = Math.min(extents.extent(shortest), longer(block[shortest], shortest, group));
      double grown = size / block[shortest] * next;
      if (grown <= budget) {
        block[shortest] = next;
        size = grown;
      } else {
        closed[shortest] = true;
      }
    }
  }

  /**
   * The next larger length of a block along an axis: it divides a group, or has twice as many
   * groups.
   */
  private long longer(long block, int axis, Shape group) {
    long chunks = block / chunk.extent(axis);
    long inGroup = group.extent(axis) / chunk.extent(axis);
    if (chunks >= inGroup) {
      return 2 * block;
    }
    long next = chunks + 1;
    while (inGroup % next != 0) {
      next++;
    }
    return next * chunk.extent(axis);
  }

  /** True if blocks of this shape hold parts of chunks. */
  public boolean isCutBy(Shape block) {
    for (int axis = 0; axis < block.rank(); axis++) {
      if (block.extent(axis) < extents.extent(axis)
          && block.extent(axis) % chunk.extent(axis) != 0) {
        return true;
      }
    }
    return false;
  }

  /**
   * Visits the chunks that a box meets, in row-major order.
   *
   * @param low the box's first element
   * @param high the element after the box's last one along each axis; the box is not empty
   */
  public void forEach(long[] low, long[] high, Visitor visitor) throws java.io.IOException {
    int rank = low.length;
    long[] first = new long[rank];
    long[] last = new long[rank];
    for (int axis = 0; axis < rank; axis++) {
      first[axis] = low[axis] / chunk.extent(axis);
      last[axis] = (high[axis] - 1) / chunk.extent(axis);
    }
    long[] place = first.clone();
    while (true) {
      visitor.visit(place);
      int axis = rank - 1;
      while (axis >= 0 && place[axis] == last[axis]) {
        place[axis] = first[axis];
        axis--;
      }
      if (axis < 0) {
        return;
      }
      place[axis]++;
    }
  }
}
