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
 * A power of two that is no less than the half of a block's largest absolute value, and no more
 * than it; the least normal one of a block of zeros. Numbers divided by it have squares in the
 * range of their type, and no division rounds. The children are the block, whose numbers are
 * finite.
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
