package org.tilespark.spark.reshape;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;
import org.tilespark.spark.block.BlockSchema;
import org.tilespark.spark.block.BoxCopy;
import org.tilespark.spark.block.Halo;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.rows.BlockArguments;
import org.tilespark.spark.rows.BlockArguments.Block;
import scala.collection.immutable.Seq;

/** One array of a block without the block's halo. The children are the block. */
public final class TrimBlock extends BlockExpression {
  private final BlockArguments arguments;
  private final int plane;

  /**
   * A constructor for Catalyst and {@link HaloPlans}.
   *
   * @param arguments the block with its halo
   * @param plane number of the array: 0 for {@code values}, 1 for {@code imag}
   */
  public TrimBlock(BlockArguments arguments, int plane, Seq<Expression> children) {
    super(children);
    this.arguments = arguments;
    this.plane = plane;
  }

  @Override
  public Object eval(InternalRow input) {
    return ErrorBoundary.BLOCKS.call(() -> trimmed(arguments.read(childList(), 0, input)));
  }

  private UnsafeArrayData trimmed(Block block) {
    Halo halo = arguments.schema().halo().get();
    int rank = block.offset().size();
    long[] offset = new long[rank];
    long[] size = new long[rank];
    long[] low = new long[rank];
    long[] high = new long[rank];
    long[] ownSize = new long[rank];
    long count = 1;
    for (int axis = 0; axis < rank; axis++) {
      offset[axis] = block.offset().get(axis);
      size[axis] = block.size().get(axis);
      low[axis] = halo.ownLow(axis, offset[axis]);
      ownSize[axis] = halo.ownSize(axis, offset[axis], size[axis]);
      high[axis] = low[axis] + ownSize[axis];
      if (ownSize[axis] < 1 || high[axis] > offset[axis] + size[axis]) {
        throw new IllegalArgumentException(
            "%s: it has %s elements, which is no block with a halo of %s elements (in %s)"
                .formatted(
                    block.describe(), block.sizeText(), halo.widths(), arguments.operator()));
      }
      count *= ownSize[axis];
    }
    ElementType type = arguments.type();
    UnsafeArrayData result = UnsafeArrayData.createFreshArray(Math.toIntExact(count), type.bytes());
    BoxCopy.copy(
        new BoxCopy.Block(block.planes().get(plane), offset, size),
        new BoxCopy.Block(ArrayValues.memory(result, type), low, ownSize),
        low,
        high,
        type.bytes());
    return result;
  }

  @Override
  public DataType dataType() {
    return DataTypes.createArrayType(BlockSchema.sparkType(arguments.type()), false);
  }

  @Override
  protected List<Object> fields() {
    return List.of(arguments, plane);
  }
}
