package org.tilespark.spark.reblock;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.Coverage;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * How an array is cut, as ARRAY&lt;BIGINT&gt; of 3 + 2 * rank numbers:
 *
 * <ul>
 *   <li>1 if its blocks tile the array, else 0;
 *   <li>1 if they are the cells of a grid, else 0;
 *   <li>a digest of all places and sizes, equal for equal cuts;
 *   <li>where the blocks end, per axis;
 *   <li>elements of the largest block, per axis.
 * </ul>
 *
 * <p>Bad blocks cause no failure here: the reader of their values reports them.
 */
public final class CutSummary extends BoxAggregate {
  private final BlockKind kind;
  private final Option<Shape> extents;

  /** A constructor for Catalyst, which copies expressions by it, and for code that makes plans. */
  public CutSummary(
      BlockKind kind,
      Option<Shape> extents,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(children, mutableAggBufferOffset, inputAggBufferOffset);
    this.kind = kind;
    this.extents = extents;
  }

  /**
   * A bad block, or one of more elements than a Java array can have, becomes a box without
   * elements.
   */
  @Override
  long[] box(Long[] offset, Integer[] size) {
    int rank = rank();
    long[] box = new long[2 * rank];
    long elements = 1;
    for (int axis = 0; axis < rank; axis++) {
      if (offset[axis] == null
          || size[axis] == null
          || offset[axis] < 0
          || size[axis] < 1
          || offset[axis] > Long.MAX_VALUE - size[axis]
          || elements * size[axis] > Integer.MAX_VALUE) {
        return new long[2 * rank];
      }
      elements *= size[axis];
      box[axis] = offset[axis];
      box[rank + axis] = size[axis];
    }
    return box;
  }

  @Override
  public Object eval(BoxList list) {
    int rank = rank();
    long[] boxes = list.toArray();
    long[] reached = list.reached();
    long[] ends = extents.isEmpty() ? reached : extents.get().toArray();
    long[] largest = new long[rank];
    boolean isTiled = true;
    long digest = list.count();
    for (int box = 0; box < boxes.length; box += 2 * rank) {
      long hash = 1;
      for (int i = 0; i < 2 * rank; i++) {
        hash = Long.rotateLeft((hash ^ boxes[box + i]) * 0x9E3779B97F4A7C15L, 29);
      }
      digest += hash * hash + hash;
      for (int axis = 0; axis < rank; axis++) {
        long size = boxes[box + rank + axis];
        largest[axis] = Math.max(largest[axis], size);
        isTiled &= size > 0 && boxes[box + axis] + size <= ends[axis];
      }
    }
    isTiled = isTiled && Coverage.defect(ArrayAxes.of(kind), ends, boxes).isEmpty();
    long[] summary = new long[3 + 2 * rank];
    summary[0] = isTiled ? 1 : 0;
    summary[1] = isTiled && isGrid(boxes, ends, largest) ? 1 : 0;
    summary[2] = digest;
    System.arraycopy(reached, 0, summary, 3, rank);
    System.arraycopy(largest, 0, summary, 3 + rank, rank);
    return UnsafeArrayData.fromPrimitiveArray(summary);
  }

  private static boolean isGrid(long[] boxes, long[] ends, long[] largest) {
    int rank = ends.length;
    for (int box = 0; box < boxes.length; box += 2 * rank) {
      for (int axis = 0; axis < rank; axis++) {
        long offset = boxes[box + axis];
        if (offset % largest[axis] != 0
            || boxes[box + rank + axis] != Math.min(largest[axis], ends[axis] - offset)) {
          return false;
        }
      }
    }
    return true;
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(DataTypes.LongType, false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(kind, extents);
  }
}
