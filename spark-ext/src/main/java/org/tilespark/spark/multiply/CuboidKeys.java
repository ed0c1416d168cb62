package org.tilespark.spark.multiply;

import java.util.List;
import org.tilespark.layout.AxisCuts;
import org.tilespark.layout.Cuts;
import org.tilespark.spark.exchange.PieceKeys;
import org.tilespark.spark.multiply.cost.MultiplyShape.Axis;

/**
 * The keys by which an operand's pieces are shuffled. If cuboids share parts of the operand, a
 * piece has the key of its part. Otherwise each cuboid that needs the piece gets a copy with the
 * cuboid's key: for A these are all cuboids along N, for B all along M. The columns are those of
 * {@link PieceColumns}.
 *
 * @param cuboids the cuboids of the product
 * @param right true for B; the only operand of a gram is A
 * @param innerAxis the operand's axis that corresponds to K: 0 or 1
 */
record CuboidKeys(Cuboids cuboids, boolean right, int innerAxis) implements PieceKeys {
  /** The cuts of the operand: where cuboids begin, and along K where panels begin. */
  Cuts cuts() {
    AxisCuts outer = right ? cuboids.axisN() : cuboids.axisM();
    return innerAxis == 0 ? Cuts.of(cuboids.panels(), outer) : Cuts.of(outer, cuboids.panels());
  }

  @Override
  public List<Column> columns() {
    return List.of(
        new Column("cuboid", false), new Column("inner", true), new Column("side", false));
  }

  @Override
  public int copies(long[] part) {
    // If the other axis is empty, there are no cuboids.
    boolean none = (right ? cuboids.axisM() : cuboids.axisN()).parts() == 0;
    return none ? 0 : cuboids.isShared() ? 1 : right ? cuboids.p() : cuboids.q();
  }

  @Override
  public void fill(int copy, long[] part, long[] low, long[] keys) {
    int outer = cuboids.range(right ? Axis.N : Axis.M, part[1 - innerAxis]);
    long panel = cuboids.rank(Axis.K, cuboids.panels().low(part[innerAxis]));
    keys[PieceColumns.INNER] = panel;
    if (cuboids.isShared()) {
      keys[PieceColumns.KEY] = cuboids.partKey(cuboids.part(right, outer, cuboids.rangeK(panel)));
      keys[PieceColumns.SIDE] = right ? 1 : 0;
      return;
    }
    // A gram computes only the upper half: a piece goes as A to the cuboids of its row, and as B to
    // those of its column.
    boolean asB = right || (cuboids.gram() && copy < outer);
    int p = asB ? copy : outer;
    int q = asB ? outer : copy;
    keys[PieceColumns.KEY] = cuboids.key(cuboids.cuboid(p, q, cuboids.rangeK(panel)));
    keys[PieceColumns.SIDE] = asB ? 1 : 0;
  }
}
