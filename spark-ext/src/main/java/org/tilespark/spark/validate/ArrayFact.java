package org.tilespark.spark.validate;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.catalyst.BlockExpression;
import scala.collection.immutable.Seq;

/**
 * One number about an array, as BIGINT: its number of elements, or the index of its first null (-1
 * if there is none). Null for a null array. It checks 64 null bits at a time, while SQL's own
 * functions check one element at a time.
 */
public final class ArrayFact extends BlockExpression {
  private final boolean firstNull;

  /**
   * An expression for one of the two facts.
   *
   * @param firstNull true for the place of the first null, false for the length
   * @param children one expression, which gives an array
   */
  public ArrayFact(boolean firstNull, Seq<Expression> children) {
    super(children);
    this.firstNull = firstNull;
  }

  @Override
  protected List<Object> fields() {
    return List.of(firstNull);
  }

  @Override
  public Object eval(InternalRow input) {
    ArrayData data = (ArrayData) childList().get(0).eval(input);
    if (data == null) {
      return null;
    }
    return firstNull ? ArrayValues.firstNull(data) : (long) data.numElements();
  }

  @Override
  public boolean nullable() {
    return childList().get(0).nullable();
  }

  /** True only if the child may throw: this expression does not fail for a wrong array. */
  @Override
  public boolean throwable() {
    return childList().get(0).throwable();
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public String prettyName() {
    return firstNull ? "first_null" : "array_length";
  }
}
