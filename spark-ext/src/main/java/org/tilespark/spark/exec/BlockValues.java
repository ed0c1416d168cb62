package org.tilespark.spark.exec;

import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;
import org.tilespark.arrow.BlockVectors;
import org.tilespark.kernels.HostMemory;
import org.tilespark.layout.ElementType;

/**
 * The values of one array cell, found in place where that is possible: Spark's {@link
 * UnsafeArrayData} and our Arrow lists are read where they lie, other representations are copied
 * once, in bulk.
 *
 * @param values the elements; valid as long as the row or batch they were found in
 * @param owner the Arrow buffer that holds them, or null
 */
record BlockValues(HostMemory values, ArrowBuf owner) {
  private static final int WORD_BYTES = 8;

  /** The values of an array from a row; it holds no nulls. */
  static BlockValues of(ArrayData array, ElementType type) {
    if (array instanceof UnsafeArrayData unsafe) {
      int n = unsafe.numElements();
      long header = UnsafeArrayData.calculateHeaderPortionInBytes(n);
      return new BlockValues(
          new HostMemory(
              unsafe.getBaseObject(), unsafe.getBaseOffset() + header, (long) n * type.bytes()),
          null);
    }
    return new BlockValues(HostMemory.ofArray(copy(array, type)), null);
  }

  /** The values of our own Arrow list, in place; null if the column is no such list. */
  static ListVector arrowList(ColumnVector column) {
    return column instanceof ArrowColumnVector arrow
            && arrow.getValueVector() instanceof ListVector list
            && list.getDataVector() instanceof BaseFixedWidthVector
        ? list
        : null;
  }

  /** The values of list {@code row}, in place. */
  static BlockValues of(ListVector list, int row) {
    return new BlockValues(BlockVectors.values(list, row), list.getDataVector().getDataBuffer());
  }

  /** Index of the first null element, or -1. */
  static int firstNull(ArrayData array) {
    int n = array.numElements();
    if (array instanceof UnsafeArrayData unsafe) {
      // Null bits follow the 8-byte count, a word for 64 elements; bits beyond n are 0.
      long words = (n + 63L) / 64;
      for (long word = 0; word < words; word++) {
        long bits =
            Platform.getLong(
                unsafe.getBaseObject(), unsafe.getBaseOffset() + (word + 1) * WORD_BYTES);
        if (bits != 0) {
          return Math.toIntExact(word * 64 + Long.numberOfTrailingZeros(bits));
        }
      }
      return -1;
    }
    for (int i = 0; i < n; i++) {
      if (array.isNullAt(i)) {
        return i;
      }
    }
    return -1;
  }

  /** Index of the first null element of list {@code row}, or -1. */
  static int firstNull(ListVector list, int row) {
    var elements = list.getDataVector();
    if (!elements.getField().isNullable() || elements.getNullCount() == 0) {
      return -1;
    }
    int start = list.getElementStartIndex(row);
    for (int i = start; i < list.getElementEndIndex(row); i++) {
      if (elements.isNull(i)) {
        return i - start;
      }
    }
    return -1;
  }

  private static Object copy(ArrayData array, ElementType type) {
    return switch (type) {
      case INT8 -> array.toByteArray();
      case INT16 -> array.toShortArray();
      case INT32 -> array.toIntArray();
      case INT64 -> array.toLongArray();
      case FLOAT32 -> array.toFloatArray();
      case FLOAT64 -> array.toDoubleArray();
    };
  }
}
