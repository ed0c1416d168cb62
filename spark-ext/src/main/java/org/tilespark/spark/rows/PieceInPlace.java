package org.tilespark.spark.rows;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.tilespark.layout.Box;

/**
 * The row of a piece whose values stay in their block: keys, place and sizes are the piece's, but
 * arrays are those of the whole {@link #block}. Only for readers that know this class.
 */
public final class PieceInPlace extends GenericInternalRow {
  private Box block; // null before the first piece

  /** A row of {@code fields} columns without a piece. */
  public PieceInPlace(int fields) {
    super(new Object[fields]);
  }

  /**
   * Points this row to a piece.
   *
   * @param columns values of all columns
   * @param of box of the block that contains the piece
   */
  public void show(Object[] columns, Box of) {
    System.arraycopy(columns, 0, values(), 0, columns.length);
    block = of;
  }

  /** The box, in the whole array, of the block whose values the row has. */
  public Box block() {
    return block;
  }
}
