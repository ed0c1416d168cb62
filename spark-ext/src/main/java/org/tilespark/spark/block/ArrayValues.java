package org.tilespark.spark.block;

import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;

/** Bulk access to the numbers of one array of a row. Stateless. */
public final class ArrayValues {
  /** Number of values that callers copy and process at a time: 32 KiB of DOUBLE. */
  public static final int CHUNK = 4096;

  private ArrayValues() {}

  /** Index of the array's first null, or -1; looks at 64 elements at a time where it can. */
  public static long firstNull(ArrayData array) {
    int count = array.numElements();
    if (array instanceof UnsafeArrayData unsafe) {
      // Null bits follow the count, 64 to a word (UnsafeArrayData's own Javadoc).
      long bits = unsafe.getBaseOffset() + Long.BYTES;
      for (long word = 0; word < (count + 63L) / 64; word++) {
        long nulls = HostMemory.unsafe().getLong(unsafe.getBaseObject(), bits + 8 * word);
        if (nulls != 0) {
          return 64 * word + Long.numberOfTrailingZeros(nulls);
        }
      }
      return -1;
    }
    for (int i = 0; i < count; i++) {
      if (array.isNullAt(i)) {
        return i;
      }
    }
    return -1;
  }

  /**
   * The numbers of an array without nulls: in place if they are contiguous, otherwise a copy.
   *
   * @return memory of the numbers that is valid as long as the array
   */
  public static HostMemory memory(ArrayData array, ElementType type) {
    if (array instanceof UnsafeArrayData unsafe) {
      int count = unsafe.numElements();
      long header = UnsafeArrayData.calculateHeaderPortionInBytes(count);
      assert header + (long) count * type.bytes() <= unsafe.getSizeInBytes()
          : count + " elements of " + type + " in " + unsafe.getSizeInBytes() + " bytes";
      return new HostMemory(
          unsafe.getBaseObject(), unsafe.getBaseOffset() + header, (long) count * type.bytes());
    }
    return HostMemory.ofArray(
        switch (type) {
          case INT8 -> array.toByteArray();
          case INT16 -> array.toShortArray();
          case INT32 -> array.toIntArray();
          case INT64 -> array.toLongArray();
          case FLOAT32 -> array.toFloatArray();
          case FLOAT64 -> array.toDoubleArray();
        });
  }

  /**
   * Sets each element to {@code value}.
   *
   * @param values memory of elements of {@code type}
   * @param value number that {@code type} holds exactly if it is an integer type
   */
  public static void fill(HostMemory values, ElementType type, double value) {
    Object one =
        switch (type) {
          case INT8 -> new byte[] {(byte) value};
          case INT16 -> new short[] {(short) value};
          case INT32 -> new int[] {(int) value};
          case INT64 -> new long[] {(long) value};
          case FLOAT32 -> new float[] {(float) value};
          case FLOAT64 -> new double[] {value};
        };
    long done = Math.min(type.bytes(), values.bytes());
    HostMemory.ofArray(one).slice(0, done).copyTo(values);
    while (done < values.bytes()) { // copies twice as many elements each time
      long more = Math.min(done, values.bytes() - done);
      values.slice(0, more).copyTo(values.slice(done, more));
      done += more;
    }
  }

  /**
   * Copies {@code length} FLOAT elements from index {@code start} on to the beginning of {@code
   * values}.
   */
  public static void read(HostMemory from, int start, float[] values, int length) {
    from.slice((long) start * Float.BYTES, (long) length * Float.BYTES)
        .copyTo(HostMemory.ofArray(values));
  }

  /**
   * Copies {@code length} DOUBLE elements from index {@code start} on to the beginning of {@code
   * values}.
   */
  public static void read(HostMemory from, int start, double[] values, int length) {
    from.slice((long) start * Double.BYTES, (long) length * Double.BYTES)
        .copyTo(HostMemory.ofArray(values));
  }

  /**
   * Copies FLOAT or DOUBLE elements as DOUBLE to the beginning of {@code values}; {@code floats} is
   * a buffer for FLOAT elements.
   */
  public static void read(
      HostMemory from, ElementType type, int start, double[] values, float[] floats, int length) {
    if (type == ElementType.FLOAT64) {
      read(from, start, values, length);
      return;
    }
    read(from, start, floats, length);
    for (int i = 0; i < length; i++) {
      values[i] = floats[i];
    }
  }
}
