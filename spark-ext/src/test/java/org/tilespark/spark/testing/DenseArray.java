package org.tilespark.spark.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.block.BlockKind;

/**
 * All elements of an array, row-major, as boxed numbers, so that NaNs and signed zeros are
 * distinguished.
 *
 * @param extents extents of the array
 * @param values value of each element
 * @param imag likewise; null if the array is real
 */
@SuppressWarnings("ArrayRecordComponent") // compared by assertSame
public record DenseArray(long[] extents, Object[] values, Object[] imag) {
  /** Collects blocks, and asserts that each element is in one of them. */
  public static DenseArray of(Dataset<Row> df, long... extents) {
    BlockKind kind = extents.length == 2 ? BlockKind.MATRIX : BlockKind.VOLUME;
    boolean isComplex = List.of(df.columns()).contains("imag");
    int count = Math.toIntExact(Arrays.stream(extents).reduce(1, (a, b) -> a * b));
    DenseArray array =
        new DenseArray(extents, new Object[count], isComplex ? new Object[count] : null);
    for (Row row : df.collectAsList()) {
      long[] offset = new long[extents.length];
      long[] size = new long[extents.length];
      for (int axis = 0; axis < extents.length; axis++) {
        offset[axis] = row.<Long>getAs(kind.offsetColumns().get(axis));
        size[axis] = row.<Integer>getAs(kind.sizeColumns().get(axis));
        assertTrue(
            offset[axis] >= 0 && offset[axis] + size[axis] <= extents[axis],
            () -> "a block outside the array: " + row);
      }
      array.put(array.values, row.getList(row.fieldIndex("values")), offset, size);
      if (isComplex) {
        array.put(array.imag, row.getList(row.fieldIndex("imag")), offset, size);
      }
    }
    for (int i = 0; i < count; i++) {
      int at = i;
      assertTrue(array.values[i] != null, () -> "no block holds element " + at);
    }
    return array;
  }

  private void put(Object[] plane, List<?> block, long[] offset, long[] size) {
    assertEquals(Arrays.stream(size).reduce(1, (a, b) -> a * b), block.size());
    for (int i = 0; i < block.size(); i++) {
      long[] at = unravel(i, size);
      for (int axis = 0; axis < at.length; axis++) {
        at[axis] += offset[axis];
      }
      int index = (int) ravel(at, extents);
      assertNull(plane[index], "an element in two blocks");
      plane[index] = block.get(i);
    }
  }

  /**
   * The array whose elements come from this one's.
   *
   * @param source makes the place here of an element's place there; null for {@code fill}
   */
  public DenseArray gathered(long[] target, IntFunction<long[]> source, Object fill) {
    int count = Math.toIntExact(Arrays.stream(target).reduce(1, (a, b) -> a * b));
    Object[] real = new Object[count];
    Object[] imaginary = imag == null ? null : new Object[count];
    for (int i = 0; i < count; i++) {
      long[] from = source.apply(i);
      real[i] = from == null ? fill : values[(int) ravel(from, extents)];
      if (imag != null) {
        imaginary[i] = from == null ? zeroLike(fill) : imag[(int) ravel(from, extents)];
      }
    }
    return new DenseArray(target, real, imaginary);
  }

  private static Object zeroLike(Object number) {
    if (number instanceof Double) {
      return 0.0;
    }
    if (number instanceof Float) {
      return 0f;
    }
    if (number instanceof Long) {
      return 0L;
    }
    if (number instanceof Integer) {
      return 0;
    }
    return number instanceof Short ? (Object) (short) 0 : (Object) (byte) 0;
  }

  /** Asserts equal extents and equal elements, bit by bit but for NaNs. */
  public void assertSame(DenseArray found, String message) {
    assertEquals(Arrays.toString(extents), Arrays.toString(found.extents), message);
    assertEquals(Arrays.asList(values), Arrays.asList(found.values), message);
    assertEquals(
        imag == null ? null : Arrays.asList(imag),
        found.imag == null ? null : Arrays.asList(found.imag),
        message);
  }

  /** The place of element {@code index}, of as many axes as {@code extents}. */
  public static long[] unravel(long index, long... extents) {
    long[] at = new long[extents.length];
    for (int axis = extents.length - 1; axis >= 0; axis--) {
      at[axis] = index % extents[axis];
      index /= extents[axis];
    }
    return at;
  }

  /** The index of the element at a place. */
  public static long ravel(long[] at, long... extents) {
    long index = 0;
    for (int axis = 0; axis < at.length; axis++) {
      index = index * extents[axis] + at[axis];
    }
    return index;
  }
}
