package org.tilespark.spark.linalg;

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.ArrayValues;

/**
 * A DOUBLE matrix on the Java heap, row-major.
 *
 * @param values the elements; there may be more than {@code rows * cols}
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Dense(int rows, int cols, double[] values) {
  /** A matrix of zeros. */
  static Dense zeros(int rows, int cols) {
    return new Dense(rows, cols, new double[Math.multiplyExact(rows, cols)]);
  }

  /** The elements of a block of any type, as a matrix of DOUBLE. */
  static Dense of(HostMemory block, ElementType type, int rows, int cols) {
    Dense dense = zeros(rows, cols);
    double[] values = dense.values;
    if (type == ElementType.FLOAT64) {
      ArrayValues.read(block, 0, values, values.length);
      return dense;
    }
    Object chunk =
        switch (type) {
          case INT8 -> new byte[ArrayValues.CHUNK];
          case INT16 -> new short[ArrayValues.CHUNK];
          case INT32 -> new int[ArrayValues.CHUNK];
          case INT64 -> new long[ArrayValues.CHUNK];
          case FLOAT32 -> new float[ArrayValues.CHUNK];
          case FLOAT64 -> throw new AssertionError();
        };
    HostMemory memory = HostMemory.ofArray(chunk);
    for (int start = 0; start < values.length; start += ArrayValues.CHUNK) {
      int length = Math.min(ArrayValues.CHUNK, values.length - start);
      block.slice((long) start * type.bytes(), (long) length * type.bytes()).copyTo(memory);
      widen(chunk, values, start, length);
    }
    return dense;
  }

  private static void widen(Object chunk, double[] values, int start, int length) {
    if (chunk instanceof float[] numbers) {
      for (int i = 0; i < length; i++) {
        values[start + i] = numbers[i];
      }
    } else if (chunk instanceof byte[] numbers) {
      for (int i = 0; i < length; i++) {
        values[start + i] = numbers[i];
      }
    } else if (chunk instanceof short[] numbers) {
      for (int i = 0; i < length; i++) {
        values[start + i] = numbers[i];
      }
    } else if (chunk instanceof int[] numbers) {
      for (int i = 0; i < length; i++) {
        values[start + i] = numbers[i];
      }
    } else if (chunk instanceof long[] numbers) {
      for (int i = 0; i < length; i++) {
        values[start + i] = numbers[i];
      }
    }
  }

  /** The elements as an array of a row, rounded to {@code type}. */
  UnsafeArrayData toArray(ElementType type) {
    int count = rows * cols;
    if (type == ElementType.FLOAT64) {
      UnsafeArrayData array = UnsafeArrayData.createFreshArray(count, Double.BYTES);
      memory().copyTo(ArrayValues.memory(array, type));
      return array;
    }
    UnsafeArrayData array = UnsafeArrayData.createFreshArray(count, Float.BYTES);
    HostMemory target = ArrayValues.memory(array, type);
    float[] chunk = new float[ArrayValues.CHUNK];
    for (int start = 0; start < count; start += chunk.length) {
      int length = Math.min(chunk.length, count - start);
      for (int i = 0; i < length; i++) {
        chunk[i] = (float) values[start + i];
      }
      HostMemory.ofArray(chunk)
          .slice(0, (long) length * Float.BYTES)
          .copyTo(target.slice((long) start * Float.BYTES, (long) length * Float.BYTES));
    }
    return array;
  }

  /** The memory of the elements, for native calls. */
  HostMemory memory() {
    return HostMemory.ofArray(values).slice(0, (long) rows * cols * Double.BYTES);
  }

  double at(int row, int col) {
    return values[row * cols + col];
  }

  /** The columns from {@code first} on to before {@code end}, as a matrix of its own. */
  Dense columns(int first, int end) {
    Dense part = zeros(rows, end - first);
    for (int row = 0; row < rows; row++) {
      System.arraycopy(values, row * cols + first, part.values, row * part.cols, part.cols);
    }
    return part;
  }

  /** This matrix with a column of ones before its own. */
  Dense behindOnes() {
    Dense wider = zeros(rows, cols + 1);
    for (int row = 0; row < rows; row++) {
      wider.values[row * (cols + 1)] = 1;
      System.arraycopy(values, row * cols, wider.values, row * (cols + 1) + 1, cols);
    }
    return wider;
  }

  /** The matrix [this | other], with the columns of both. */
  Dense beside(Dense other) {
    Dense both = zeros(rows, cols + other.cols);
    for (int row = 0; row < rows; row++) {
      System.arraycopy(values, row * cols, both.values, row * both.cols, cols);
      System.arraycopy(
          other.values, row * other.cols, both.values, row * both.cols + cols, other.cols);
    }
    return both;
  }

  /** The rows up to before {@code end}, as a matrix in the same memory. */
  Dense top(int end) {
    return new Dense(end, cols, values);
  }

  Dense transposed() {
    Dense other = zeros(cols, rows);
    for (int row = 0; row < rows; row++) {
      for (int col = 0; col < cols; col++) {
        other.values[col * rows + row] = values[row * cols + col];
      }
    }
    return other;
  }
}
