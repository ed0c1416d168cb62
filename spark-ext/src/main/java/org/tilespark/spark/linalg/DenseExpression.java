package org.tilespark.spark.linalg;

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
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/**
 * An expression on a block of any real type, which gets the elements as doubles. The children are
 * the block's columns, then at most one further argument.
 */
abstract class DenseExpression extends BlockExpression {
  private final BlockArguments arguments;
  private final DataType made;

  /**
   * @param made type of the result
   */
  protected DenseExpression(BlockArguments arguments, DataType made, Seq<Expression> children) {
    super(children);
    this.arguments = arguments;
    this.made = made;
  }

  /** The type of a block's column of values. */
  static DataType values(ElementType type) {
    return DataTypes.createArrayType(BlockSchema.sparkType(type), false);
  }

  /**
   * The result of this expression for one block.
   *
   * @param block the block, whose row is valid
   * @param matrix the block's elements, which may be overwritten
   * @param input input row, by which the further argument is evaluated
   */
  abstract Object of(Block block, Dense matrix, InternalRow input);

  final BlockArguments arguments() {
    return arguments;
  }

  final String operator() {
    return arguments.operator();
  }

  /** The value of the further argument in a row. */
  final Object further(InternalRow input) {
    return childList().get(arguments.count()).eval(input);
  }

  /**
   * The value of the further argument in a row, an array of DOUBLE, as a matrix of {@code cols}
   * columns.
   */
  final Dense further(InternalRow input, int cols) {
    ArrayData values = (ArrayData) further(input);
    return Dense.of(
        ArrayValues.memory(values, ElementType.FLOAT64),
        ElementType.FLOAT64,
        values.numElements() / cols,
        cols);
  }

  @Override
  public final Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(
        () -> {
          Block block = arguments.read(childList(), 0, input);
          Dense matrix =
              Dense.of(
                  block.planes().get(0),
                  arguments.type(),
                  block.size().get(0),
                  block.size().get(1));
          return of(block, matrix, input);
        });
  }

  @Override
  public final DataType dataType() {
    return made;
  }
}
