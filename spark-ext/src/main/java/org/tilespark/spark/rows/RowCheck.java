package org.tilespark.spark.rows;

import java.util.Collections;
import org.apache.spark.sql.catalyst.InternalRow;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockSchema;
import scala.Option;

/** Checks the block of a single row. Stateless. */
public final class RowCheck {
  private RowCheck() {}

  /**
   * Checks a block's nulls, sizes, array lengths, and that it is inside the stated extents.
   *
   * @param blocks ordinals of the block's columns in {@code row}
   * @param operator operator's name, for the message
   * @param extents extents of the whole array, if they are known
   * @throws IllegalArgumentException that begins with the block, if it has a defect
   */
  public static void check(
      BlockSchema blocks, String operator, Option<Shape> extents, InternalRow row) {
    BlockCursor cursor = BlockCursor.overRows(Collections.singleton(row).iterator());
    cursor.advance();
    new BlockCheck(blocks, operator, extents.getOrElse(() -> null)).check(cursor);
  }

  /**
   * Checks a block's place and sizes alone; without reading the columns of its values.
   *
   * @return the count of elements that the sizes require
   * @throws IllegalArgumentException as {@link #check}
   */
  public static long checkBox(
      BlockSchema blocks, String operator, Option<Shape> extents, InternalRow row) {
    return new BlockCheck(blocks, operator, extents.getOrElse(() -> null)).checkBox(row);
  }
}
