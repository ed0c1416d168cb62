package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * The values of a block of FLOAT or DOUBLE, each divided by a number. The children are the block's
 * columns, then the number, a DOUBLE.
 */
public final class DividedBlock extends DenseExpression {
  /** A constructor for Catalyst and {@link PrincipalPlans}. */
  public DividedBlock(BlockArguments arguments, Seq<Expression> children) {
    super(arguments, values(arguments.type()), children);
  }

  @Override
  Object of(Block block, Dense matrix, InternalRow input) {
    double divisor = (Double) further(input);
    double[] values = matrix.values();
    for (int i = 0; i < values.length; i++) {
      values[i] /= divisor;
    }
    return matrix.toArray(arguments().type());
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments());
  }
}
