package org.tilespark.spark.aggregate;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.catalyst.BlockAggregate;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import scala.collection.immutable.Seq;

/**
 * The means of a matrix's columns, as an aggregate over the sums of its blocks: an array of
 * structs, one for each range of columns that some block has. A task sends 16 bytes for each of its
 * columns, and 32 for each block. The child is a {@link BlockColumnSums}.
 */
public final class ColumnMeans extends BlockAggregate<ColumnSums> {
  /** The type of one range of columns: its first column, the means, and their rounding errors. */
  public static final StructType RANGE =
      new StructType()
          .add("col", DataTypes.LongType, false)
          .add("cols", DataTypes.IntegerType, false)
          .add("high", DataTypes.createArrayType(DataTypes.DoubleType, false), false)
          .add("low", DataTypes.createArrayType(DataTypes.DoubleType, false), false);

  private final BlockArguments arguments;

  /**
   * A constructor for Catalyst and {@link org.tilespark.spark.pointwise.PointwisePlans
   * PointwisePlans}.
   *
   * @param children the bytes of a block's sums, as {@link BlockColumnSums} gives them
   */
  public ColumnMeans(
      BlockArguments arguments,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(children, mutableAggBufferOffset, inputAggBufferOffset);
    this.arguments = arguments;
  }

  @Override
  public ColumnSums createAggregationBuffer() {
    return new ColumnSums();
  }

  @Override
  public ColumnSums update(ColumnSums sums, InternalRow input) {
    return sums.merge(ColumnSums.deserialize((byte[]) childList().get(0).eval(input)));
  }

  @Override
  public ColumnSums merge(ColumnSums sums, ColumnSums others) {
    return sums.merge(others);
  }

  @Override
  public Object eval(ColumnSums sums) {
    return ErrorBoundary.BLOCKS.call(() -> sums.means(arguments));
  }

  @Override
  public byte[] serialize(ColumnSums sums) {
    return sums.serialize();
  }

  @Override
  public ColumnSums deserialize(byte[] bytes) {
    return ColumnSums.deserialize(bytes);
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(RANGE, false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments);
  }
}
