package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.kernels.pointwise.RandomNumbers;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import scala.collection.immutable.Seq;

/**
 * Some whole rows of a matrix of independent normal random numbers with mean 0 and variance 1. An
 * element depends only on the seed and its place, so recomputing a block gives the same values. The
 * children are the first row and the count of rows. The numbers are those of {@code randn(seed)}.
 */
public final class NormalBlock extends BlockExpression {
  private final long seed;
  private final int cols;
  private final ElementType type;

  /**
   * A constructor for Catalyst and {@link RandomMatrix}.
   *
   * @param cols number of columns of the matrix
   * @param type type of the elements: FLOAT32 or FLOAT64
   */
  public NormalBlock(long seed, int cols, ElementType type, Seq<Expression> children) {
    super(children);
    this.seed = seed;
    this.cols = cols;
    this.type = type;
  }

  @Override
  public Object eval(InternalRow input) {
    long row = (Long) childList().get(0).eval(input);
    int rows = (Integer) childList().get(1).eval(input);
    double[] values = new double[Math.multiplyExact(rows, cols)]; // the elements, (rows, cols)
    for (int i = 0; i < values.length; i++) {
      values[i] = RandomNumbers.normal(RandomNumbers.bits(seed, row + i / cols, i % cols));
    }
    if (type == ElementType.FLOAT64) {
      return UnsafeArrayData.fromPrimitiveArray(values);
    }
    float[] floats = new float[values.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) values[i];
    }
    return UnsafeArrayData.fromPrimitiveArray(floats);
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(BlockSchema.sparkType(type), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(seed, cols, type);
  }
}
