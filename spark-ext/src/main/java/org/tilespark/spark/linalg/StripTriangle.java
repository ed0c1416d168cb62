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
import scala.collection.immutable.Seq;

/**
 * The values of R of a strip's QR factorization: DOUBLE, of as many rows as the strip has, and at
 * most as many as it has columns. The children are the strip's block.
 */
public final class StripTriangle extends BlockExpression {
  private final int own;
  private final boolean ones;
  private final BlockArguments arguments;

  /**
   * A constructor for Catalyst and {@link TallQr}.
   *
   * @param own columns of A, of which the block has more where it is of [A | B]
   * @param ones true for R of the strip with a column of ones before its own
   */
  public StripTriangle(int own, boolean ones, BlockArguments arguments, Seq<Expression> children) {
    super(children);
    this.own = own;
    this.ones = ones;
    this.arguments = arguments;
  }

  @Override
  public Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(
        () ->
            StripFactors.of(arguments, arguments.read(childList(), 0, input), own)
                .triangle(ones)
                .toArray(ElementType.FLOAT64));
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(DataTypes.DoubleType, false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(own, ones, arguments);
  }
}
