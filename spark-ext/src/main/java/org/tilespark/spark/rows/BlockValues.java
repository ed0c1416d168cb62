package org.tilespark.spark.rows;

import java.util.Optional;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.tilespark.arrow.blocks.BlockVectors;
import org.tilespark.arrow.blocks.Plane;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;

/**
 * Finds the values of one array cell, in place if that is possible: Spark's {@link UnsafeArrayData}
 * and our Arrow lists are read in place, other representations are copied once, in bulk. Values are
 * valid as long as their row or batch.
 */
final class BlockValues {
  private BlockValues() {}

  /** The values of an array from a row; it holds no nulls. */
  static Plane of(ArrayData array, ElementType type) {
    return new Plane(ArrayValues.memory(array, type));
  }

  /**
   * Our own Arrow list of a column, to be read in place; null if the column is another kind of
   * list.
   */
  static ListVector arrowList(ColumnVector column) {
    return column instanceof ArrowColumnVector arrow
            && arrow.getValueVector() instanceof ListVector list
            && list.getDataVector() instanceof BaseFixedWidthVector
        ? list
        : null;
  }

  /** The values of an array in a list vector, in place. */
  static Plane of(ListVector list, int row) {
    ArrowBuf owner = list.getDataVector().getDataBuffer();
    return new Plane(BlockVectors.values(list, row), Optional.of(owner));
  }

  /** Index of the first null element of list {@code row}, or -1. */
  static long firstNull(ListVector list, int row) {
    var elements = list.getDataVector();
    if (!elements.getField().isNullable() || elements.getNullCount() == 0) {
      return -1;
    }
    int start = list.getElementStartIndex(row);
    for (int i = start; i < list.getElementEndIndex(row); i++) {
      if (elements.isNull(i)) {
        return (long) i - start;
      }
    }
    return -1;
  }
}
