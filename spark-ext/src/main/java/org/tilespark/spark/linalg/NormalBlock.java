package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import scala.collection.immutable.Seq;

/**
 * Some whole rows of a matrix of independent normal random numbers with mean 0 and variance 1. An
 * element depends only on the seed and its place, so recomputing a block gives the same values. The
 * children are the first row and the count of rows.
 *
 * <p>Bits are those of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014), whose n-th number can be computed without the earlier ones. Box and
 * Muller's transform makes two normal numbers of two uniform ones.
 */
public final class NormalBlock extends BlockExpression {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

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
    long first = Math.multiplyExact(row, (long) cols);
    for (int i = 0; i < values.length; i++) {
      values[i] = normal(seed, first + i);
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

  /**
   * The normal random number with a given index; the numbers of an even index and of the next one
   * form a pair.
   */
  static double normal(long seed, long index) {
    long pair = index & ~1L;
    // Uniform in (0, 1], so that the logarithm is finite. StrictMath gives the same bits on each
    // machine.
    double radius = Math.sqrt(-2 * StrictMath.log(1 - uniform(seed, pair)));
    double angle = 2 * Math.PI * uniform(seed, pair + 1);
    return radius * (index == pair ? StrictMath.cos(angle) : StrictMath.sin(angle));
  }

  /** A random number in [0, 1) of 53 bits. */
  private static double uniform(long seed, long index) {
    long z = seed + GOLDEN * (index + 1);
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return ((z ^ (z >>> 31)) >>> 11) * 0x1p-53;
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
