package org.tilespark.bench.soak;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Compares blocks with the array that they should be, or with other blocks. */
final class BlockComparison {
  private BlockComparison() {}

  static Optional<String> compare(Dense expected, Dataset<Row> df, double error) {
    return compare(expected, df.columns(), df.collectAsList(), error);
  }

  /**
   * The defect of blocks, or nothing.
   *
   * @param error by how much an element may be off
   */
  static Optional<String> compare(Dense expected, String[] columns, List<Row> rows, double error) {
    if (Arrays.asList(columns).contains("imag") != expected.isComplex()) {
      return Optional.of("columns " + Arrays.toString(columns));
    }
    int rank = expected.extents().length;
    List<double[]> wanted = expected.planes();
    boolean[] seen = new boolean[expected.values().length];
    long[] offset = new long[rank];
    long[] size = new long[rank];
    long[] at = new long[rank];
    for (Row row : rows) {
      for (int axis = 0; axis < rank; axis++) {
        offset[axis] = row.getLong(axis);
        size[axis] = row.getInt(rank + axis);
      }
      List<List<? extends Number>> found = new ArrayList<>();
      for (int plane = 0; plane < wanted.size(); plane++) {
        found.add(row.getList(2 * rank + plane));
      }
      for (int i = 0; i < found.get(0).size(); i++) {
        place(i, offset, size, at);
        for (int axis = 0; axis < rank; axis++) {
          if (at[axis] < 0 || at[axis] >= expected.extents()[axis]) {
            return Optional.of("an element at " + Arrays.toString(at));
          }
        }
        int index = expected.index(at);
        if (seen[index]) {
          return Optional.of("two elements at " + Arrays.toString(at));
        }
        seen[index] = true;
        for (int plane = 0; plane < wanted.size(); plane++) {
          double number = found.get(plane).get(i).doubleValue();
          double right = wanted.get(plane)[index];
          if (!(Math.abs(number - right) <= error)) {
            String place = Arrays.toString(at) + (plane == 1 ? ", imaginary" : "");
            return Optional.of(
                "at " + place + ": " + number + ", expected " + right + " +- " + error);
          }
        }
      }
    }
    for (int i = 0; i < seen.length; i++) {
      if (!seen[i]) {
        return Optional.of("no element of index " + i);
      }
    }
    return Optional.empty();
  }

  /** The first difference between two lists of blocks in any order, or nothing. */
  static Optional<String> sameBlocks(int rank, List<Row> expected, List<Row> found, double error) {
    Map<List<Object>, List<Object>> byPlace = new HashMap<>();
    for (Row row : expected) {
      byPlace.put(cells(row, 0, 2 * rank), cells(row, 2 * rank, row.length()));
    }
    if (found.size() != expected.size() || byPlace.size() != expected.size()) {
      return Optional.of(found.size() + " rows, expected " + expected.size());
    }
    for (Row row : found) {
      List<Object> wanted = byPlace.get(cells(row, 0, 2 * rank));
      List<Object> cells = cells(row, 2 * rank, row.length());
      if (wanted == null || !isNear(wanted, cells, error)) {
        return Optional.of("block " + cells(row, 0, 2 * rank) + " is another one");
      }
    }
    return Optional.empty();
  }

  static List<Object> cells(Row row, int from, int to) {
    List<Object> cells = new ArrayList<>();
    for (int i = from; i < to; i++) {
      cells.add(row.get(i) instanceof scala.collection.Seq ? row.getList(i) : row.get(i));
    }
    return cells;
  }

  private static boolean isNear(List<?> a, List<?> b, double error) {
    for (int i = 0; i < a.size(); i++) {
      if (a.get(i) instanceof List<?> one && b.get(i) instanceof List<?> other) {
        if (one.size() != other.size() || !isNear(one, other, error)) {
          return false;
        }
      } else if (a.get(i) instanceof Number one && b.get(i) instanceof Number other) {
        if (!(Math.abs(one.doubleValue() - other.doubleValue()) <= error)) {
          return false;
        }
      }
    }
    return true;
  }

  /** The place of the {@code index}-th element of a block in the array. */
  static void place(long index, long[] offset, long[] size, long[] at) {
    long rest = index;
    for (int axis = size.length - 1; axis >= 0; axis--) {
      at[axis] = offset[axis] + rest % size[axis];
      rest /= size[axis];
    }
  }
}
