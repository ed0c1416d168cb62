package org.tilespark.spark.aggregate;

import java.io.Serializable;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.pointwise.ElementwisePlans;
import org.tilespark.spark.rows.BlockArguments;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * The means of a matrix's columns, as an aggregate over the sums of its blocks: an array of
 * structs, one for each range of columns that some block has. A task sends 16 bytes for each column
 * it met, and 32 for each block. The child is what {@link BlockColumnSums} gives.
 */
public final class ColumnMeans extends TypedImperativeAggregate<ColumnSums>
    implements Serializable {
  private static final long serialVersionUID = 1;

  /** Of one range: {@code col}, {@code cols}, {@code means}. */
  public static final StructType RANGE =
      new StructType()
          .add("col", DataTypes.LongType, false)
          .add("cols", DataTypes.IntegerType, false)
          .add("means", DataTypes.createArrayType(DataTypes.DoubleType, false), false);

  private final BlockArguments arguments;
  private final Seq<Expression> children;
  private final int mutableAggBufferOffset;
  private final int inputAggBufferOffset;

  /**
   * For Catalyst and {@link ElementwisePlans}.
   *
   * @param children the sums of a block
   */
  public ColumnMeans(
      BlockArguments arguments,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    this.arguments = arguments;
    this.children = children;
    this.mutableAggBufferOffset = mutableAggBufferOffset;
    this.inputAggBufferOffset = inputAggBufferOffset;
  }

  @Override
  public ColumnSums createAggregationBuffer() {
    return new ColumnSums();
  }

  @Override
  public ColumnSums update(ColumnSums sums, InternalRow input) {
    return sums.merge(ColumnSums.deserialize((byte[]) children.apply(0).eval(input)));
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
  public boolean nullable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(RANGE, false);
  }

  @Override
  public Seq<Expression> children() {
    return children;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new ColumnMeans(arguments, newChildren, mutableAggBufferOffset, inputAggBufferOffset);
  }

  @Override
  public int mutableAggBufferOffset() {
    return mutableAggBufferOffset;
  }

  @Override
  public int inputAggBufferOffset() {
    return inputAggBufferOffset;
  }

  @Override
  public ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
    return new ColumnMeans(arguments, children, offset, inputAggBufferOffset);
  }

  @Override
  public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return new ColumnMeans(arguments, children, mutableAggBufferOffset, offset);
  }

  @Override
  public String prettyName() {
    return "column_means";
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> arguments;
      case 1 -> children;
      case 2 -> mutableAggBufferOffset;
      case 3 -> inputAggBufferOffset;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof ColumnMeans;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof ColumnMeans that
        && arguments.equals(that.arguments)
        && children.equals(that.children)
        && mutableAggBufferOffset == that.mutableAggBufferOffset
        && inputAggBufferOffset == that.inputAggBufferOffset;
  }

  @Override
  public int hashCode() {
    return Objects.hash(arguments, children, mutableAggBufferOffset, inputAggBufferOffset);
  }
}
