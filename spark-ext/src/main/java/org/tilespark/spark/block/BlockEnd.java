package org.tilespark.spark.block;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.Seq;

/**
 * The end of a block along an axis, {@code offset + size}, as BIGINT. Null if either is null or
 * invalid, even with ANSI arithmetic: the reader of the block reports the defect.
 */
public final class BlockEnd extends BlockExpression {
  /**
   * A constructor for Catalyst, which uses it to copy expressions; other code calls {@link #of}.
   */
  public BlockEnd(Seq<Expression> children) {
    super(children);
  }

  /**
   * The expression of a block's end along an axis.
   *
   * @param offset the block's offset along the axis, BIGINT
   * @param size the block's size along the axis, INT
   */
  public static BlockEnd of(Expression offset, Expression size) {
    return new BlockEnd(ScalaInterop.<Expression>seq(offset, size));
  }

  @Override
  public Object eval(InternalRow input) {
    Object from = childList().get(0).eval(input);
    Object count = childList().get(1).eval(input);
    if (from == null || count == null) {
      return null;
    }
    long low = (Long) from;
    int elements = (Integer) count;
    return low < 0 || elements < 1 || low > Long.MAX_VALUE - elements ? null : low + elements;
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public boolean throwable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  protected List<Object> fields() {
    return List.of();
  }
}
