package org.tilespark.spark.exchange;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The keys by which the pieces of blocks are shuffled, and the number of places to which each piece
 * is sent. In a row, the keys precede the piece's own columns.
 *
 * <p>Implementations are values (records): part of a plan, compared by {@code equals}, sent to
 * executors.
 */
public interface PieceKeys extends Serializable {
  /**
   * A column of keys.
   *
   * @param name name of the column
   * @param isLong true for BIGINT, false for INT
   */
  record Column(String name, boolean isLong) implements Serializable {
    DataType type() {
      return isLong ? DataTypes.LongType : DataTypes.IntegerType;
    }
  }

  /** The key columns, in order. */
  List<Column> columns();

  /**
   * The number of places to which a piece is sent.
   *
   * @param part number of the piece's cell along each axis
   */
  int copies(long[] part);

  /**
   * Computes the keys of one copy of a piece.
   *
   * @param copy number of the copy, from 0
   * @param part number of the piece's cell along each axis
   * @param low first element of the piece along each axis
   * @param keys gets the keys, one number per column; keys of INT columns must fit an INT
   */
  void fill(int copy, long[] part, long[] low, long[] keys);
}
