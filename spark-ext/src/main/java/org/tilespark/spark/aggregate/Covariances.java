package org.tilespark.spark.aggregate;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.catalyst.BlockAggregate;
import org.tilespark.spark.conf.Backend;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The covariances or correlations of a matrix's columns, as the values of a square block, in one
 * pass over blocks that have all columns. A task sends 4 bytes times the square of the number of
 * columns. The children are the block's columns.
 */
public final class Covariances extends BlockAggregate<Scatter> {
  private final BlockArguments arguments;
  private final Rows rows;
  private final Option<Double> ddof;
  private final Backend backend;

  /**
   * The rows of the matrix, as its blocks have them.
   *
   * @param cols number of columns of the matrix
   * @param arePlaced false if the blocks have no places and together are the whole matrix
   */
  public record Rows(int cols, boolean arePlaced) implements Serializable {}

  /**
   * A constructor for Catalyst and {@link org.tilespark.spark.reduce.CovariancePlans
   * CovariancePlans}.
   *
   * @param ddof number that is subtracted from the count of rows before the division by it; empty
   *     for correlations
   * @param backend backend that computes the products of columns
   * @param children the block's columns
   */
  public Covariances(
      BlockArguments arguments,
      Rows rows,
      Option<Double> ddof,
      Backend backend,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(children, mutableAggBufferOffset, inputAggBufferOffset);
    this.arguments = arguments;
    this.rows = rows;
    this.ddof = ddof;
    this.backend = backend;
  }

  @Override
  public Scatter createAggregationBuffer() {
    return new Scatter(arguments.type(), rows, backend);
  }

  @Override
  public Scatter update(Scatter scatter, InternalRow input) {
    ErrorBoundary.BLOCKS.run(
        () -> scatter.add(arguments.read(childList(), 0, input), arguments.operator()));
    return scatter;
  }

  @Override
  public Scatter merge(Scatter scatter, Scatter others) {
    return scatter.merge(others);
  }

  @Override
  public Object eval(Scatter scatter) {
    return ErrorBoundary.BLOCKS.call(
        () ->
            ddof.isEmpty()
                ? scatter.correlations(arguments)
                : scatter.covariances(arguments, ddof.get()));
  }

  @Override
  public byte[] serialize(Scatter scatter) {
    return scatter.serialize();
  }

  @Override
  public Scatter deserialize(byte[] bytes) {
    return createAggregationBuffer().deserialize(bytes);
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(BlockSchema.sparkType(arguments.type()), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments, rows, ddof, backend);
  }
}
