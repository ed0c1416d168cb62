package org.tilespark.spark.reblock;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.catalyst.BlockAggregate;
import scala.collection.immutable.Seq;

/**
 * Collects the places and sizes of an array's blocks. The children are the blocks' offsets, BIGINT,
 * then their sizes, INT.
 */
public abstract class BoxAggregate extends BlockAggregate<BoxList> {
  BoxAggregate(Seq<Expression> children, int mutableAggBufferOffset, int inputAggBufferOffset) {
    super(children, mutableAggBufferOffset, inputAggBufferOffset);
  }

  /**
   * The offsets of a block, then its sizes, as they are collected; subclasses decide about bad
   * ones.
   *
   * @param offset offset along each axis; null where the row has null
   * @param size size along each axis; null where the row has null
   */
  abstract long[] box(Long[] offset, Integer[] size);

  @Override
  public final BoxList createAggregationBuffer() {
    return new BoxList(rank());
  }

  final int rank() {
    return childList().size() / 2;
  }

  @Override
  public final BoxList update(BoxList boxes, InternalRow input) {
    int rank = rank();
    Long[] offset = new Long[rank];
    Integer[] size = new Integer[rank];
    for (int axis = 0; axis < rank; axis++) {
      offset[axis] = (Long) childList().get(axis).eval(input);
      size[axis] = (Integer) childList().get(rank + axis).eval(input);
    }
    boxes.add(box(offset, size));
    return boxes;
  }

  @Override
  public final BoxList merge(BoxList boxes, BoxList others) {
    boxes.add(others);
    return boxes;
  }

  @Override
  public final byte[] serialize(BoxList boxes) {
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(boxes.bytes()));
    boxes.putInto(bytes);
    return bytes.array();
  }

  @Override
  public final BoxList deserialize(byte[] bytes) {
    BoxList boxes = createAggregationBuffer();
    boxes.takeFrom(ByteBuffer.wrap(bytes));
    return boxes;
  }
}
