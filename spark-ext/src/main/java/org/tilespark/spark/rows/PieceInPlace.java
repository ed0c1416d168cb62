package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.tilespark.layout.Box;

/**
 * The row of a piece of a block whose values were not taken out of the block: keys, place and sizes
 * are the piece's, arrays are those of the whole {@link #block}. Only for readers that know it.
 */
public final class PieceInPlace extends GenericInternalRow {
  private Box block; // null before the first

  /** A row of {@code fields} columns that shows no piece yet. */
  public PieceInPlace(int fields) {
    super(new Object[fields]);
  }

  /**
   * Shows a piece.
   *
   * @param columns content of all columns
   * @param of the block that the piece is a part of
   */
  public void show(Object[] columns, Box of) {
    System.arraycopy(columns, 0, values(), 0, columns.length);
    block = of;
  }

  /** The block whose values the arrays are, in elements of the whole array. */
  public Box block() {
    return block;
  }
}
