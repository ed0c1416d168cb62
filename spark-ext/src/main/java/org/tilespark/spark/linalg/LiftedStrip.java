package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import scala.collection.immutable.Seq;

/**
 * The values of Q X, where Q is that of a strip's thin QR factorization. The children are the
 * strip's block, then the values of [X | R], DOUBLE, with the R to which Q belongs.
 */
public final class LiftedStrip extends BlockExpression {
  private final BlockArguments arguments;
  private final int cols;
  private final boolean withStrip;
  private final ElementType result;

  /**
   * A constructor for Catalyst and {@link TallQr}.
   *
   * @param cols columns of X
   * @param withStrip true for the values of [Q X | strip]
   * @param result type of the values: FLOAT32 or FLOAT64
   */
  public LiftedStrip(
      BlockArguments arguments,
      int cols,
      boolean withStrip,
      ElementType result,
      Seq<Expression> children) {
    super(children);
    this.arguments = arguments;
    this.cols = cols;
    this.withStrip = withStrip;
    this.result = result;
  }

  @Override
  public Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          StripFactors factors = StripFactors.of(arguments, arguments.read(childList(), 0, input));
          ArrayData values = (ArrayData) childList().get(arguments.count()).eval(input);
          Dense strip = factors.strip();
          int width = cols + strip.cols();
          Dense both =
              Dense.of(
                  ArrayValues.memory(values, ElementType.FLOAT64),
                  ElementType.FLOAT64,
                  values.numElements() / width,
                  width);
          Dense lifted = factors.lifted(both.columns(0, cols), both.columns(cols, width));
          return (withStrip ? lifted.beside(strip) : lifted).toArray(result);
        });
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(BlockSchema.sparkType(result), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments, cols, withStrip, result);
  }
}
