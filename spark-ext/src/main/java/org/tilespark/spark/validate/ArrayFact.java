package org.tilespark.spark.validate;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * One number about an array, as BIGINT: how many elements it has, or where its first null is (-1 if
 * there is none). Null for a null array. It looks at 64 elements' null bits at a time, where SQL's
 * own functions look at one element.
 */
public final class ArrayFact extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1;

  private final Expression array;
  private final boolean firstNull;

  /**
   * The fact.
   *
   * @param array gives an array
   * @param firstNull true for the place of the first null, false for the length
   */
  public ArrayFact(Expression array, boolean firstNull) {
    this.array = array;
    this.firstNull = firstNull;
  }

  @Override
  public Object eval(InternalRow input) {
    ArrayData data = (ArrayData) array.eval(input);
    if (data == null) {
      return null;
    }
    return firstNull ? ArrayValues.firstNull(data) : (long) data.numElements();
  }

  /** Of several inherited forms: the one that calls {@link #eval}. */
  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public boolean nullable() {
    return array.nullable();
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public Seq<Expression> children() {
    return ScalaInterop.seq(List.of(array));
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new ArrayFact(newChildren.apply(0), firstNull);
  }

  @Override
  public String prettyName() {
    return firstNull ? "first_null" : "array_length";
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return n == 0 ? array : firstNull;
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof ArrayFact;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof ArrayFact other
        && array.equals(other.array)
        && firstNull == other.firstNull;
  }

  @Override
  public int hashCode() {
    return Objects.hash(array, firstNull);
  }
}
