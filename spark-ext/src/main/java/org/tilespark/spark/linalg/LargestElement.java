package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * The greatest power of two that is at most a block's largest absolute value; for a block of zeros,
 * the least normal number. Dividing the block's numbers by it is exact, and their squares are then
 * in the range of their type. The children are the columns of the block, whose numbers are finite.
 */
public final class LargestElement extends DenseExpression {
  /** A constructor for Catalyst and {@link PrincipalPlans}. */
  public LargestElement(BlockArguments arguments, Seq<Expression> children) {
    super(arguments, DataTypes.DoubleType, children);
  }

  @Override
  Object of(Block block, Dense matrix, InternalRow input) {
    FactorSpec all = FactorSpec.of(Factoring.QR_R, matrix.cols(), ElementType.FLOAT64);
    FiniteCheck.check(block, matrix, all, operator());
    double largest = 0;
    for (double value : matrix.values()) {
      largest = Math.max(largest, Math.abs(value));
    }
    return largest == 0 ? Double.MIN_NORMAL : Math.scalb(1.0, Math.getExponent(largest));
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments());
  }
}
