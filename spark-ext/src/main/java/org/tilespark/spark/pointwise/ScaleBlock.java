package org.tilespark.spark.pointwise;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/** A block's values times a number, computed in double and rounded once. */
public final class ScaleBlock extends BlockValuesExpression {
  private final double alpha;

  /** For Catalyst and {@link PointwisePlans}; the children are the block. */
  public ScaleBlock(BlockArguments arguments, int plane, double alpha, Seq<Expression> children) {
    super(arguments, plane, children);
    this.alpha = alpha;
  }

  @Override
  Step step(Block block, List<Expression> children, InternalRow input) {
    return (values, count, start) -> {
      for (int i = 0; i < count; i++) {
        values[i] *= alpha;
      }
    };
  }

  @Override
  Object parameter() {
    return alpha;
  }
}
