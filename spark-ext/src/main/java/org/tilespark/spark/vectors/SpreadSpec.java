package org.tilespark.spark.vectors;

import java.io.Serializable;
import java.util.List;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockSchema;
import scala.Option;

/**
 * Specifies how blocks become rows: one for each row of the matrix, {@code row, further columns,
 * id, vector}, or one for each element, {@code row, col, further columns, value}.
 *
 * @param blocks positions of the block columns among those that are read
 * @param further positions of the further columns among those that are read
 * @param ids position of the column of ids; -1 if there is none, or it is not read
 * @param isCells true for a row for each element
 * @param extents extents of the matrix, if they are known: blocks then have whole rows, unless
 *     there is a row for each element
 * @param operator operator's name, for messages
 */
public record SpreadSpec(
    BlockSchema blocks,
    List<Integer> further,
    int ids,
    boolean isCells,
    Option<Shape> extents,
    String operator)
    implements Serializable {
  /** The text in EXPLAIN. */
  @Override
  public String toString() {
    return (isCells ? "elements" : "rows")
        + (extents.isEmpty() ? "" : " of " + extents.get())
        + (ids < 0 ? "" : ", with ids");
  }
}
