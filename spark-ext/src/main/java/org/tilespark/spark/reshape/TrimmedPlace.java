package org.tilespark.spark.reshape;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.Halo;
import org.tilespark.spark.catalyst.BlockExpression;
import scala.collection.immutable.Seq;

/**
 * The place or the size of a block without its halo along one axis; null if place or size is null.
 * Children: the block's place and its size along the axis. {@link TrimBlock} checks them.
 */
public final class TrimmedPlace extends BlockExpression {
  private final Halo halo;
  private final int axis;
  private final boolean isSize;

  /** A constructor for Catalyst and {@link HaloPlans}. */
  public TrimmedPlace(Halo halo, int axis, boolean isSize, Seq<Expression> children) {
    super(children);
    this.halo = halo;
    this.axis = axis;
    this.isSize = isSize;
  }

  @Override
  public Object eval(InternalRow input) {
    Object low = childList().get(0).eval(input);
    Object size = childList().get(1).eval(input);
    if (low == null || size == null) {
      return null;
    }
    if (isSize) {
      return (int) halo.ownSize(axis, (long) low, (int) size);
    }
    return halo.ownLow(axis, (long) low);
  }

  @Override
  public boolean nullable() {
    return childList().stream().anyMatch(Expression::nullable);
  }

  @Override
  public DataType dataType() {
    return isSize ? DataTypes.IntegerType : DataTypes.LongType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(halo, axis, isSize);
  }
}
