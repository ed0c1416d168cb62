package org.tilespark.spark.block;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.catalyst.ScalaInterop;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Where a block ends along an axis, {@code offset + size}, as BIGINT. Null where either is null or
 * bad, in every mode of Spark's arithmetic: whoever reads the block says what is wrong with it.
 */
public final class BlockEnd extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1;

  private final Expression offset;
  private final Expression size;

  /**
   * The end.
   *
   * @param offset BIGINT
   * @param size INT
   */
  public BlockEnd(Expression offset, Expression size) {
    this.offset = offset;
    this.size = size;
  }

  @Override
  public Object eval(InternalRow input) {
    Object from = offset.eval(input);
    Object count = size.eval(input);
    if (from == null || count == null) {
      return null;
    }
    long low = (Long) from;
    int elements = (Integer) count;
    return low < 0 || elements < 1 || low > Long.MAX_VALUE - elements ? null : low + elements;
  }

  /** Of several inherited forms: the one that calls {@link #eval}. */
  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public DataType dataType() {
    return DataTypes.LongType;
  }

  @Override
  public Seq<Expression> children() {
    return ScalaInterop.seq(List.of(offset, size));
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new BlockEnd(newChildren.apply(0), newChildren.apply(1));
  }

  @Override
  public String prettyName() {
    return "block_end";
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> offset;
      case 1 -> size;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof BlockEnd;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof BlockEnd that && offset.equals(that.offset) && size.equals(that.size);
  }

  @Override
  public int hashCode() {
    return Objects.hash(offset, size);
  }
}
