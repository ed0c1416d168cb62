package org.tilespark.spark.exchange;

import java.util.List;
import java.util.stream.IntStream;
import org.tilespark.layout.Cuts;

/**
 * The keys of a re-block: every piece goes to its own cell, whose key is the place of the cell's
 * first element.
 *
 * @param cuts the target tiling, in whose cells the pieces are
 */
public record CellOrigins(Cuts cuts) implements PieceKeys {
  @Override
  public List<Column> columns() {
    return IntStream.range(0, cuts.rank())
        .mapToObj(axis -> new Column("cell" + axis, true))
        .toList();
  }

  @Override
  public int copies(long[] part) {
    return 1;
  }

  @Override
  public void fill(int copy, long[] part, long[] low, long[] keys) {
    for (int axis = 0; axis < part.length; axis++) {
      keys[axis] = cuts.axis(axis).low(part[axis]);
    }
  }
}
