package org.tilespark.spark.reblock;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.BlockBoxes;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.error.ErrorBoundary;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * True if the blocks of an array are the cells of a tiling, each once; else the query fails with a
 * message that names the place. The children are the blocks' offsets, BIGINT, then their sizes,
 * INT.
 */
public final class TilingCheck extends TypedImperativeAggregate<BlockBoxes>
    implements Serializable {
  private static final long serialVersionUID = 1;

  private final GridCheck grid;
  private final Seq<Expression> children;
  private final int mutableAggBufferOffset;
  private final int inputAggBufferOffset;

  /** For Catalyst and plans. */
  public TilingCheck(
      GridCheck grid,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    this.grid = grid;
    this.children = children;
    this.mutableAggBufferOffset = mutableAggBufferOffset;
    this.inputAggBufferOffset = inputAggBufferOffset;
  }

  @Override
  public BlockBoxes createAggregationBuffer() {
    return new BlockBoxes(grid.kind());
  }

  @Override
  public BlockBoxes update(BlockBoxes boxes, InternalRow input) {
    int rank = grid.kind().rank();
    Long[] offset = new Long[rank];
    Integer[] size = new Integer[rank];
    for (int axis = 0; axis < rank; axis++) {
      offset[axis] = (Long) children.apply(axis).eval(input);
      size[axis] = (Integer) children.apply(rank + axis).eval(input);
    }
    ErrorBoundary.BLOCKS.run(() -> boxes.add(grid.check(offset, size)));
    return boxes;
  }

  @Override
  public BlockBoxes merge(BlockBoxes boxes, BlockBoxes others) {
    boxes.add(others);
    return boxes;
  }

  @Override
  public Object eval(BlockBoxes boxes) {
    ErrorBoundary.BLOCKS.run(() -> boxes.check(grid.extents().toArray(), false, grid.operator()));
    return true;
  }

  @Override
  public byte[] serialize(BlockBoxes boxes) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(boxes.bytes()));
    boxes.putInto(bytes);
    return bytes.array();
  }

  @Override
  public BlockBoxes deserialize(byte[] bytes) {
    BlockBoxes boxes = createAggregationBuffer();
    boxes.takeFrom(ByteBuffer.wrap(bytes));
    return boxes;
  }

  @Override
  public boolean nullable() {
    return false;
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  public Seq<Expression> children() {
    return children;
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new TilingCheck(grid, newChildren, mutableAggBufferOffset, inputAggBufferOffset);
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
    return new TilingCheck(grid, children, offset, inputAggBufferOffset);
  }

  @Override
  public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
    return new TilingCheck(grid, children, mutableAggBufferOffset, offset);
  }

  @Override
  public String prettyName() {
    return "tiling_check";
  }

  @Override
  public int productArity() {
    return 4;
  }

  @Override
  public Object productElement(int n) {
    return switch (n) {
      case 0 -> grid;
      case 1 -> children;
      case 2 -> mutableAggBufferOffset;
      case 3 -> inputAggBufferOffset;
      default -> throw new IndexOutOfBoundsException(n);
    };
  }

  @Override
  public boolean canEqual(Object that) {
    return that instanceof TilingCheck;
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof TilingCheck that
        && grid.equals(that.grid)
        && children.equals(that.children)
        && mutableAggBufferOffset == that.mutableAggBufferOffset
        && inputAggBufferOffset == that.inputAggBufferOffset;
  }

  @Override
  public int hashCode() {
    return Objects.hash(grid, children, mutableAggBufferOffset, inputAggBufferOffset);
  }
}
