package org.tilespark.spark.linalg;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * The values of a block of FLOAT or DOUBLE, each divided by a number. The children are the block,
 * then the number, a DOUBLE.
 */
public final class DividedBlock extends BlockExpression {
  private final BlockArguments arguments;

  /** A constructor for Catalyst and {@link PrincipalPlans}. */
  public DividedBlock(BlockArguments arguments, Seq<Expression> children) {
    super(children);
    this.arguments = arguments;
  }

  @Override
  public Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          Block block = arguments.read(childList(), 0, input);
          double divisor = (Double) childList().get(arguments.count()).eval(input);
          Dense values =
              Dense.of(
                  block.planes().get(0),
                  arguments.type(),
                  block.size().get(0),
                  block.size().get(1));
          for (int i = 0; i < values.values().length; i++) {
            values.values()[i] /= divisor;
          }
          return values.toArray(arguments.type());
        });
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(BlockSchema.sparkType(arguments.type()), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments);
  }
}
