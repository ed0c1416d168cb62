package org.tilespark.spark.elementwise;

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
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.interop.ScalaInterop;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * The sums of one block's columns, as the bytes that {@link ColumnSums} writes: what {@link
 * ColumnMeans} adds up. It is computed in a projection below the aggregate, since an aggregate of
 * many groups sorts its input, and sums are far smaller than blocks. Children: the block.
 */
public final class BlockColumnSums extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1;

  private final BlockArguments arguments;
  private final int plane;
  private final Seq<Expression> children;

  /**
   * For Catalyst and {@link ElementwisePlans}.
   *
   * @param plane whose sums: 0 for {@code values}, 1 for {@code imag}
   * @param children the block
   */
  public BlockColumnSums(BlockArguments arguments, int plane, Seq<Expression> children) {
    this.arguments = arguments;
    this.plane = plane;
    this.children = children;
  }

  @Override
  public Object eval(InternalRow input) {
    List<Expression> block = ScalaInterop.list(children);
    ColumnSums sums = new ColumnSums();
    ErrorBoundary.BLOCKS.run(
        () -> sums.add(arguments.read(block, 0, input), plane, arguments.type()));
    return sums.serialize();
  }

  /** Of several inherited forms: the one that calls {@link #eval}. */
  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return DataTypes.BinaryType;
  }

  @Override
  public Seq<Expression> children() {
    return children;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new BlockColumnSums(arguments, plane, newChildren);
  }

  @Override
  public String prettyName() {
    return "block_column_sums";
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> arguments;
      case 1 -> plane;
      case 2 -> children;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof BlockColumnSums;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof BlockColumnSums that
        && arguments.equals(that.arguments)
        && plane == that.plane
        && children.equals(that.children);
  }

  @Override
  public int hashCode() {
    return Objects.hash(arguments, plane, children);
  }
}
