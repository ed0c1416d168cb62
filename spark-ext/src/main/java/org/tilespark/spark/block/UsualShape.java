package org.tilespark.spark.block;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.layout.Shape;

/**
 * Chooses the shape of a result's blocks if the user states none. The choice depends on bytes: a
 * shape that is derived from the blocks of operands is kept only if its blocks are neither very
 * small nor very large, since operands in strips of one row would make results of single elements.
 *
 * <p>A pure function of extents and sizes.
 */
public final class UsualShape {
  /** Usual number of bytes of a block's values. */
  public static final long BYTES = 8L << 20;

  /**
   * Most blocks of a result; more are refused, since each costs the driver and a shuffle some bytes
   * and time.
   */
  public static final long MOST_BLOCKS = 1 << 20;

  /** Most bytes of a result's block if each block covers a whole plane or line. */
  public static final long LARGE_BYTES = 256L << 20;

  /**
   * Blocks of fewer bytes are joined; larger ones keep the cuts of the operands, which saves work.
   */
  private static final long SMALL_BYTES = BYTES / 16;

  /** Up to this many blocks are never joined: tasks can share them, and so few cost little. */
  private static final long FEW_BLOCKS = 64;

  private UsualShape() {}

  /**
   * A shape near a given one. Blocks of more than {@code mostBytes} are halved along their longest
   * axis until they fit. If there are many small blocks, they are doubled along their shortest axis
   * up to {@value #BYTES} bytes, and beyond that while there are more than {@value #MOST_BLOCKS}.
   *
   * @param extents extents of the result
   * @param like a shape that the operands suggest
   * @param elementBytes bytes of an element, in all planes together
   */
  public static Shape of(Shape extents, Shape like, long elementBytes, long mostBytes) {
    return joined(extents, halved(clipped(extents, like), elementBytes, mostBytes), elementBytes);
  }

  /**
   * The shape, halved along its longest axis until its blocks have no more than {@code mostBytes}
   * bytes.
   */
  public static Shape halved(Shape shape, long elementBytes, long mostBytes) {
    return halved(
        shape, IntStream.range(0, shape.rank()).boxed().toList(), elementBytes, mostBytes);
  }

  /**
   * The shape, halved along some axes, as far as their extents allow, until blocks have no more
   * than {@code mostBytes} bytes.
   */
  public static Shape halved(Shape shape, List<Integer> axes, long elementBytes, long mostBytes) {
    long[] halved = shape.toArray();
    while (product(halved) > mostBytes / elementBytes) {
      int longest = -1;
      for (int axis : axes) {
        longest = halved[axis] > (longest < 0 ? 1 : halved[longest]) ? axis : longest;
      }
      if (longest < 0) {
        break;
      }
      halved[longest] = Ceil.div(halved[longest], 2);
    }
    return Shape.of(halved);
  }

  /**
   * The shape, doubled along some axes if it would cut the result into many small blocks, or into
   * more than {@value #MOST_BLOCKS}.
   */
  public static Shape joined(Shape extents, Shape shape, long elementBytes) {
    long[] joined = clipped(extents, shape).toArray();
    boolean isSmall = bytes(joined, elementBytes) < SMALL_BYTES;
    while (count(extents, joined) > MOST_BLOCKS
        || (isSmall
            && bytes(joined, elementBytes) <= BYTES / 2
            && count(extents, joined) > FEW_BLOCKS)) {
      int shortest = -1;
      for (int axis = 0; axis < joined.length; axis++) {
        boolean isCut = joined[axis] < extents.extent(axis);
        shortest = isCut && (shortest < 0 || joined[axis] < joined[shortest]) ? axis : shortest;
      }
      joined[shortest] = Math.min(2 * joined[shortest], extents.extent(shortest));
    }
    return Shape.of(joined);
  }

  /**
   * Refuses a shape that cuts a result into more than {@value #MOST_BLOCKS} blocks.
   *
   * @param operator operator's name, for messages
   * @param option name of the option in which users state the shape
   */
  public static void requireFew(
      String operator, String option, Shape extents, Shape shape, long elementBytes) {
    long count = count(extents, shape.toArray());
    if (count > MOST_BLOCKS) {
      throw new IllegalArgumentException(
          ("%s: %s: blocks of %s cut the result of %s into %s blocks; expected at most %s."
                  + " Blocks of %s, for one, would be %s")
              .formatted(
                  operator,
                  option,
                  shape,
                  extents,
                  count,
                  MOST_BLOCKS,
                  joined(extents, shape, elementBytes),
                  count(extents, joined(extents, shape, elementBytes).toArray())));
    }
  }

  /** The shape within the extents, at least 1 along each axis. */
  private static Shape clipped(Shape extents, Shape shape) {
    long[] clipped = shape.toArray();
    for (int axis = 0; axis < clipped.length; axis++) {
      clipped[axis] = Math.max(1, Math.min(clipped[axis], extents.extent(axis)));
    }
    return Shape.of(clipped);
  }

  private static long count(Shape extents, long[] shape) {
    long[] along = new long[shape.length];
    Arrays.setAll(along, axis -> Ceil.div(extents.extent(axis), shape[axis]));
    return product(along);
  }

  private static long bytes(long[] shape, long elementBytes) {
    return Bytes.product(elementBytes, product(shape));
  }

  private static long product(long[] shape) {
    return Bytes.product(shape);
  }
}
