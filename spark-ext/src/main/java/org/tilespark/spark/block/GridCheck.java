package org.tilespark.spark.block;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.layout.Shape;
import scala.Option;

/**
 * Checks that blocks are whole cells of a tiling, as the column metadata says; the metadata may be
 * stale.
 *
 * @param kind matrix or volume
 * @param blockShape shape of a cell
 * @param extents extents of the whole array; if they are unknown, blocks at the ends of the array
 *     may be smaller
 * @param operator operator's name, for messages
 */
public record GridCheck(BlockKind kind, Shape blockShape, Option<Shape> extents, String operator)
    implements Serializable {
  /**
   * True if the blocks of a regularly cut array are the cells of this tiling.
   *
   * @param array extents of a regularly cut array
   * @param largest extents of the array's largest block
   */
  public boolean isThatOf(Shape array, Shape largest) {
    return extents.contains(array)
        && IntStream.range(0, kind.rank())
            .allMatch(
                axis ->
                    largest.extent(axis) == Math.min(blockShape.extent(axis), array.extent(axis)));
  }

  /**
   * Checks the block of a row, as {@link #check(Long[], Integer[])}.
   *
   * @param ordinals ordinals of the block's offsets, then of its sizes
   */
  public long[] check(InternalRow row, List<Integer> ordinals) {
    int rank = kind.rank();
    Long[] offset = new Long[rank];
    Integer[] size = new Integer[rank];
    for (int axis = 0; axis < rank; axis++) {
      int from = ordinals.get(axis);
      int count = ordinals.get(rank + axis);
      offset[axis] = row.isNullAt(from) ? null : (Long) row.getLong(from);
      size[axis] = row.isNullAt(count) ? null : (Integer) row.getInt(count);
    }
    return check(offset, size);
  }

  /**
   * Checks that the blocks of an array, each of which was checked, are all cells of the tiling.
   *
   * @throws IllegalArgumentException that names the place of a block, if one is missing or doubled
   */
  public void checkAll(BoxList blocks) {
    long[] ends = extents.isEmpty() ? blocks.reached() : extents.get().toArray();
    blocks.check(ends, kind, false, operator);
  }

  /**
   * Checks one block.
   *
   * @param offset the block's offset along each axis; null if the row has a null
   * @param size the block's size along each axis; null if the row has a null
   * @return the block's offsets, then its sizes
   * @throws IllegalArgumentException that names the block, if it is not a whole cell
   */
  public long[] check(Long[] offset, Integer[] size) {
    int rank = kind.rank();
    long[] box = new long[2 * rank];
    boolean good = true;
    for (int axis = 0; axis < rank; axis++) {
      if (offset[axis] == null || size[axis] == null) {
        throw new IllegalArgumentException(
            ("A %s block has a null %s; expected the place and the sizes of its"
                    + " elements (in %s)")
                .formatted(
                    kind.label(),
                    (offset[axis] == null ? kind.offsetColumns() : kind.sizeColumns()).get(axis),
                    operator));
      }
      box[axis] = offset[axis];
      box[rank + axis] = size[axis];
      long most = blockShape.extent(axis);
      good &=
          box[axis] >= 0
              && box[axis] % most == 0
              && (extents.isEmpty()
                  ? box[rank + axis] >= 1 && box[rank + axis] <= most
                  : box[rank + axis] == Math.min(most, extents.get().extent(axis) - box[axis]));
    }
    if (!good) {
      throw new IllegalArgumentException(
          ("%s: it has the sizes %s; the column metadata says blocks of %s (%s) of an"
                  + " array of %s (%s), so that nothing would have to be cut; %s (in %s)")
              .formatted(
                  kind.describe(Arrays.copyOf(box, rank)),
                  Arrays.toString(size),
                  blockShape,
                  ArrayMetadata.BLOCK_SHAPE,
                  extents.isEmpty() ? "unknown extents" : extents.get(),
                  ArrayMetadata.EXTENTS,
                  StaleMetadata.HELP,
                  operator));
    }
    return box;
  }

  /** A short text of the tiling, for plans. */
  @Override
  public String toString() {
    return kind.label()
        + " blocks of "
        + blockShape
        + (extents.isEmpty() ? "" : " of " + extents.get());
  }
}
