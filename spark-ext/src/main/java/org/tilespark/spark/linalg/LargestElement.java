package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * A power of two that is no less than the half of a block's largest absolute value, and no more
 * than it; the least normal one of a block of zeros. Numbers divided by it have squares in the
 * range of their type, and no division rounds. The children are the block, whose numbers are
 * finite.
 */
public final class LargestElement extends BlockExpression {
  private final BlockArguments arguments;

  /** A constructor for Catalyst and {@link PrincipalPlans}. */
  public LargestElement(BlockArguments arguments, Seq<Expression> children) {
    super(children);
    this.arguments = arguments;
  }

  @Override
  public Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(() -> of(arguments.read(childList(), 0, input)));
  }

  private double of(Block block) {
    int cols = block.size().get(1);
    Dense values = Dense.of(block.planes().get(0), arguments.type(), block.size().get(0), cols);
    FiniteCheck.check(
        block,
        values,
        FactorSpec.of(Factoring.QR_R, cols, ElementType.FLOAT64),
        arguments.operator());
    double largest = 0;
    for (double value : values.values()) {
      largest = Math.max(largest, Math.abs(value));
    }
    return largest == 0 ? Double.MIN_NORMAL : Math.scalb(1.0, Math.getExponent(largest));
  }

  @Override
  public DataType dataType() {
    return DataTypes.DoubleType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments);
  }
}
