package org.tilespark.spark.reblock;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.catalyst.BlockAggregate;
import org.tilespark.spark.error.ErrorBoundary;
import scala.collection.immutable.Seq;

/**
 * True if the blocks of an array are the cells of a tiling, each once; else the query fails with a
 * message that names the place. The children are the blocks' offsets, BIGINT, then their sizes,
 * INT.
 */
public final class TilingCheck extends BlockAggregate<BoxList> {
  private final GridCheck grid;

  /** For Catalyst and plans. */
  public TilingCheck(
      GridCheck grid,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(children, mutableAggBufferOffset, inputAggBufferOffset);
    this.grid = grid;
  }

  @Override
  public BoxList createAggregationBuffer() {
    return new BoxList(grid.kind().rank());
  }

  @Override
  public BoxList update(BoxList boxes, InternalRow input) {
    int rank = grid.kind().rank();
    Long[] offset = new Long[rank];
    Integer[] size = new Integer[rank];
    for (int axis = 0; axis < rank; axis++) {
      offset[axis] = (Long) childList().get(axis).eval(input);
      size[axis] = (Integer) childList().get(rank + axis).eval(input);
    }
    ErrorBoundary.BLOCKS.run(() -> boxes.add(grid.check(offset, size)));
    return boxes;
  }

  @Override
  public BoxList merge(BoxList boxes, BoxList others) {
    boxes.add(others);
    return boxes;
  }

  @Override
  public Object eval(BoxList boxes) {
    ErrorBoundary.BLOCKS.run(
        () -> boxes.check(grid.extents().toArray(), grid.kind(), false, grid.operator()));
    return true;
  }

  @Override
  public byte[] serialize(BoxList boxes) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(boxes.bytes()));
    boxes.putInto(bytes);
    return bytes.array();
  }

  @Override
  public BoxList deserialize(byte[] bytes) {
    BoxList boxes = createAggregationBuffer();
    boxes.takeFrom(ByteBuffer.wrap(bytes));
    return boxes;
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  protected List<Object> fields() {
    return List.of(grid);
  }
}
