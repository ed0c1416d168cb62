package org.tilespark.spark.vectors;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.catalyst.BlockExpression;
import scala.collection.immutable.Seq;

/** The count of elements of a row's vector; -1 if it is NULL. Its child is the vector. */
public final class VectorLength extends BlockExpression {
  private static final long serialVersionUID = 1;

  private final Boolean isVector;

  /**
   * A constructor for Catalyst and {@link VectorPlans}.
   *
   * @param isVector true for a Vector of spark.ml or spark.mllib, false for an array
   */
  public VectorLength(Boolean isVector, Seq<Expression> children) {
    super(children);
    this.isVector = isVector;
  }

  @Override
  public Object eval(InternalRow input) {
    Object value = childList().get(0).eval(input);
    if (value == null) {
      return -1;
    }
    if (!isVector) {
      return ((ArrayData) value).numElements();
    }
    InternalRow struct = (InternalRow) value;
    return struct.getByte(VectorColumn.TYPE) == VectorColumn.SPARSE
        ? struct.getInt(VectorColumn.SIZE)
        : struct.getArray(VectorColumn.VALUES).numElements();
  }

  @Override
  public DataType dataType() {
    return DataTypes.IntegerType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(isVector);
  }
}
