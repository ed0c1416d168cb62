package org.tilespark.spark.aggregate;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import scala.collection.immutable.Seq;

/**
 * The sums of one block's columns, as the bytes of {@link ColumnSums#serialize}, which {@link
 * ColumnMeans} adds up. They are computed in a projection below the aggregate, since an aggregate
 * of many groups sorts its input, and sums are far smaller than blocks. The children are the
 * block's columns.
 */
public final class BlockColumnSums extends BlockExpression {
  private final BlockArguments arguments;
  private final int plane;

  /**
   * A constructor for Catalyst and {@link org.tilespark.spark.pointwise.PointwisePlans
   * PointwisePlans}.
   *
   * @param plane the summed plane: 0 for {@code values}, 1 for {@code imag}
   * @param children the block's columns
   */
  public BlockColumnSums(BlockArguments arguments, int plane, Seq<Expression> children) {
    super(children);
    this.arguments = arguments;
    this.plane = plane;
  }

  @Override
  public Object eval(InternalRow input) {
    ColumnSums sums = new ColumnSums();
    ErrorBoundary.BLOCKS.run(
        () -> sums.add(arguments.read(childList(), 0, input), plane, arguments.type()));
    return sums.serialize();
  }

  @Override
  public DataType dataType() {
    return DataTypes.BinaryType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments, plane);
  }
}
