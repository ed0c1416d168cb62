package org.tilespark.spark.pointwise;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.aggregate.ColumnMeans;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * A block's values less the means of their columns. Children: the block, and the means of its
 * columns as {@link ColumnMeans} gives them: {@code cols} numbers, then what rounding took from
 * each, so that little is lost where the means are large beside what is left.
 */
public final class SubtractColumnMeans extends BlockValuesExpression {
  /** For Catalyst and {@link PointwisePlans}. */
  public SubtractColumnMeans(BlockArguments arguments, int plane, Seq<Expression> children) {
    super(arguments, plane, children);
  }

  @Override
  Step step(Block block, List<Expression> children, InternalRow input) {
    ArrayData means = (ArrayData) children.get(arguments().count()).eval(input);
    int cols = block.size().get(1);
    if (means == null || means.numElements() != 2 * cols) {
      throw new IllegalStateException(
          ("%s: its columns have no means; did the input give other blocks when it was"
                  + " read again? (in %s)")
              .formatted(block.describe(), arguments().operator()));
    }
    HostMemory memory = ArrayValues.memory(means, ElementType.FLOAT64);
    double[] high = new double[cols];
    double[] low = new double[cols];
    ArrayValues.read(memory, 0, high, cols);
    ArrayValues.read(memory, cols, low, cols);
    return (values, count, start) -> {
      int i = 0;
      for (int col = start % cols; i < count; col = 0) {
        int end = Math.min(count, i + cols - col);
        for (int shift = col - i; i < end; i++) {
          values[i] = values[i] - high[i + shift] - low[i + shift];
        }
      }
    };
  }
}
