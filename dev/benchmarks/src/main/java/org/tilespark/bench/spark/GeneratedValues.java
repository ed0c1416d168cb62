package org.tilespark.bench.spark;

import java.io.Serializable;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.bench.spark.GeneratedMatrix.Content;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Catalyst expression for the values of a {@link GeneratedMatrix} block; children: row, col, rows,
 * cols.
 */
public final class GeneratedValues extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1;

  private final ElementType type;
  private final Content content;
  private final long seed;
  private final Seq<Expression> children;

  /** Creates the expression, for Catalyst and {@link GeneratedMatrix}. */
  public GeneratedValues(ElementType type, Content content, long seed, Seq<Expression> children) {
    this.type = type;
    this.content = content;
    this.seed = seed;
    this.children = children;
  }

  @Override
  public Object eval(InternalRow input) {
    long row = (Long) children.apply(0).eval(input);
    long col = (Long) children.apply(1).eval(input);
    int rows = (Integer) children.apply(2).eval(input);
    int cols = (Integer) children.apply(3).eval(input);
    int count = Math.multiplyExact(rows, cols);
    if (type == ElementType.FLOAT32) {
      float[] values = new float[count];
      for (int i = 0, place = 0; i < rows; i++) {
        long rowKey = GeneratedMatrix.rowKey(seed, row + i);
        for (int j = 0; j < cols; j++) {
          values[place++] = (float) GeneratedMatrix.element(rowKey, col + j, content);
        }
      }
      return UnsafeArrayData.fromPrimitiveArray(values);
    }
    double[] values = new double[count];
    for (int i = 0, place = 0; i < rows; i++) {
      long rowKey = GeneratedMatrix.rowKey(seed, row + i);
      for (int j = 0; j < cols; j++) {
        values[place++] = GeneratedMatrix.element(rowKey, col + j, content);
      }
    }
    return UnsafeArrayData.fromPrimitiveArray(values);
  }

  /** Chooses among the inherited implementations the one that calls {@link #eval}. */
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
    return DataTypes.createArrayType(BlockSchema.sparkType(type), false);
  }

  @Override
  public Seq<Expression> children() {
    return children;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new GeneratedValues(type, content, seed, newChildren);
  }

  @Override
  public String prettyName() {
    return "generated_values";
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> type;
      case 1 -> content;
      case 2 -> seed;
      case 3 -> children;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof GeneratedValues;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof GeneratedValues that
        && type == that.type
        && content == that.content
        && seed == that.seed
        && children.equals(that.children);
  }

  @Override
  public int hashCode() {
    return Objects.hash(type, content, seed, children);
  }
}
