package org.tilespark.spark.reblock;

import static org.tilespark.spark.block.UsualShape.LARGE_BYTES;

import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.tilespark.kernels.launch.Ceil;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockFrame;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.Bytes;
import org.tilespark.spark.block.KnownArray;
import org.tilespark.spark.block.UsualShape;

/**
 * The shapes of slabs and pencils, if users do not state them: a pure function of known facts of
 * the array and of the number of concurrent tasks. Shapes are in elements along each axis.
 */
final class BlockShapes {
  private BlockShapes() {}

  /** The shape of slabs across an axis; see {@link ReblockPlans#slabs}. */
  static long[] slabs(
      KnownArray known, BlockSchema blocks, int axis, OptionalLong thickness, int tasks) {
    long[] shape = whole(known);
    shape[axis] = thickness.orElse(known.largest().extent(axis));
    boolean areThere = known.isSlabs(axis) && !known.isOneBlock();
    if (thickness.isEmpty() && (!areThere || bytes(shape, blocks) >= LARGE_BYTES)) {
      long extent = known.extents().extent(axis);
      shape[axis] = 1;
      long most = (LARGE_BYTES - 1) / bytes(shape, blocks);
      shape[axis] = evenly(extent, Math.max(1, Math.min(most, extent / tasks)));
    }
    return shape;
  }

  /** The shape of pencils along an axis; see {@link ReblockPlans#pencils}. */
  static long[] pencils(
      KnownArray known, BlockSchema blocks, int axis, Optional<long[]> sizes, int tasks) {
    long[] shape = whole(known);
    int[] others = IntStream.range(0, shape.length).filter(other -> other != axis).toArray();
    for (int i = 0; i < others.length; i++) {
      shape[others[i]] = sizes.isPresent() ? sizes.get()[i] : known.largest().extent(others[i]);
    }
    boolean areThere = known.whole().get(axis) && !known.isOneBlock();
    if (sizes.isEmpty() && (!areThere || bytes(shape, blocks) >= LARGE_BYTES)) {
      long[] parts = new long[shape.length];
      Arrays.fill(parts, 1);
      shape = whole(known);
      while (bytes(shape, blocks) >= LARGE_BYTES || count(known.extents(), shape) < tasks) {
        int longest = others[0];
        for (int other : others) {
          longest = shape[other] > shape[longest] ? other : longest;
        }
        if (shape[longest] == 1) {
          break; // each line is a block; a later check refuses blocks that are too large
        }
        parts[longest] *= 2;
        shape[longest] = Ceil.div(known.extents().extent(longest), parts[longest]);
      }
    }
    return shape;
  }

  /** A shape similar to that of the input's blocks; see {@link ReblockPlans#shapeLike}. */
  static long[] like(BlockFrame input, KnownArray known, Shape target) {
    long[] largest = known.largest().toArray();
    long[] shape =
        input.blockShape().isPresent()
            ? largest
            : UsualShape.halved(known.largest(), elementBytes(input.blocks()), LARGE_BYTES)
                .toArray();
    long[] whole = shape.clone();
    for (int axis = 0; axis < shape.length; axis++) {
      if (known.whole().get(axis)) {
        whole[axis] = Math.max(1, target.extent(axis));
      }
    }
    return bytes(whole, input.blocks()) < LARGE_BYTES ? whole : shape;
  }

  /** The shape of a block that is the whole array; 1 along an axis without elements. */
  private static long[] whole(KnownArray known) {
    return Arrays.stream(known.extents().toArray()).map(extent -> Math.max(1, extent)).toArray();
  }

  /** Bytes of an element in all planes together. */
  static long elementBytes(BlockSchema blocks) {
    return (long) blocks.elementType().bytes() * blocks.planes().size();
  }

  private static long bytes(long[] shape, BlockSchema blocks) {
    long bytes = elementBytes(blocks);
    for (long extent : shape) {
      bytes = Bytes.product(bytes, extent);
    }
    return bytes;
  }

  /** Count of the blocks of a shape in an array. */
  private static long count(Shape extents, long[] shape) {
    long count = 1;
    for (int axis = 0; axis < shape.length; axis++) {
      count = Bytes.product(count, Math.max(1, Ceil.div(extents.extent(axis), shape[axis])));
    }
    return count;
  }

  /**
   * The size of parts if {@code extent} is cut into the fewest nearly equal parts of at most {@code
   * most} elements.
   */
  private static long evenly(long extent, long most) {
    return Math.max(1, Ceil.div(extent, Math.max(1, Ceil.div(extent, most))));
  }
}
