package org.tilespark.spark.reshape;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.CellPlace;
import org.tilespark.spark.catalyst.BlockExpression;
import scala.collection.immutable.Seq;

/**
 * A place or a size of a block in another shape of its array. Children: places and sizes of the
 * block, which was checked.
 */
public final class ReshapedPlace extends BlockExpression implements CellPlace {
  private final Shape source;
  private final Shape target;
  private final int number;

  /**
   * A constructor for Catalyst and {@link ReshapePlans}.
   *
   * @param source given extents of the array
   * @param target extents of the array in its other shape
   * @param number number of the result: an axis of the other shape for the place along it, or that
   *     plus the count of axes for the size
   */
  public ReshapedPlace(Shape source, Shape target, int number, Seq<Expression> children) {
    super(children);
    this.source = source;
    this.target = target;
    this.number = number;
  }

  @Override
  public Object eval(InternalRow input) {
    int rank = source.rank();
    long[] low = new long[rank];
    long[] size = new long[rank];
    for (int axis = 0; axis < rank; axis++) {
      low[axis] = (long) childList().get(axis).eval(input);
      size[axis] = (int) childList().get(rank + axis).eval(input);
    }
    long moved = ReshapeCut.moved(source, target, low, size)[number];
    return isSize() ? (Object) (int) moved : (Object) moved;
  }

  @Override
  public BlockKind kind() {
    return source.rank() == 2 ? BlockKind.MATRIX : BlockKind.VOLUME;
  }

  private boolean isSize() {
    return number >= target.rank();
  }

  @Override
  public DataType dataType() {
    return isSize() ? DataTypes.IntegerType : DataTypes.LongType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(source, target, number);
  }
}
