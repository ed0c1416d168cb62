package org.tilespark.spark.reblock;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.tilespark.spark.block.BoxList;
import org.tilespark.spark.block.GridCheck;
import org.tilespark.spark.error.ErrorBoundary;
import scala.collection.immutable.Seq;

/**
 * True if the blocks of an array are the cells of a tiling, each exactly once; otherwise the query
 * fails with a message that names the place.
 */
public final class TilingCheck extends BoxAggregate {
  private final GridCheck grid;

  /** A constructor for Catalyst, which copies expressions by it, and for code that makes plans. */
  public TilingCheck(
      GridCheck grid,
      Seq<Expression> children,
      int mutableAggBufferOffset,
      int inputAggBufferOffset) {
    super(children, mutableAggBufferOffset, inputAggBufferOffset);
    this.grid = grid;
  }

  @Override
  long[] box(Long[] offset, Integer[] size) {
    return ErrorBoundary.BLOCKS.call(() -> grid.check(offset, size));
  }

  @Override
  public Object eval(BoxList boxes) {
    ErrorBoundary.BLOCKS.run(() -> grid.checkAll(boxes));
    return true;
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
