package org.tilespark.spark.validate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF4;
import org.tilespark.spark.block.ArrayAxes;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.Coverage;
import org.tilespark.spark.catalyst.ScalaInterop;

/**
 * Holes and overlaps inside one cell of the coarse grid that the validator lays over an array, from
 * the boxes that touch the cell. An overlap is reported only by the cell that has its first
 * element.
 */
final class CellCheck
    implements UDF4<
        scala.collection.Seq<Row>,
        scala.collection.Seq<Long>,
        scala.collection.Seq<Long>,
        String,
        scala.collection.Seq<Row>> {
  private final BlockKind kind;

  CellCheck(BlockKind kind) {
    this.kind = kind;
  }

  /**
   * The holes and overlaps inside the cell.
   *
   * @param boxes offsets and sizes of the boxes that touch the cell
   * @param low first element of the cell
   * @param high end of the cell, exclusive
   * @param group name of the array among several, or ""
   * @return rows of code, block, found, expected
   */
  @Override
  public scala.collection.Seq<Row> call(
      scala.collection.Seq<Row> boxes,
      scala.collection.Seq<Long> low,
      scala.collection.Seq<Long> high,
      String group) {
    int rank = kind.rank();
    long[] flat = sorted(boxes, rank);
    long[] from = longs(low);
    long[] to = longs(high);
    List<Row> defects = new ArrayList<>();
    List<long[]> holes = new ArrayList<>();
    Set<List<Integer>> told = new HashSet<>();
    Coverage.check(
        from,
        to,
        flat,
        new Coverage.Findings() {
          @Override
          public boolean hole(long[] holeLow, long[] holeHigh) {
            long[] hole = Arrays.copyOf(holeLow, 2 * rank);
            System.arraycopy(holeHigh, 0, hole, rank, rank);
            holes.add(hole);
            return true;
          }

          @Override
          public boolean overlap(int a, int b) {
            int first = Math.min(a, b);
            int second = Math.max(a, b);
            long[] shared = Coverage.sharedElement(rank, flat, first, second);
            if (inside(shared, from, to) && told.add(List.of(first, second))) {
              defects.add(
                  RowFactory.create(
                      "overlap",
                      Coverage.describe(ArrayAxes.of(kind), flat, second) + group,
                      "shares elements with "
                          + Coverage.describe(ArrayAxes.of(kind), flat, first)
                          + ", the first at "
                          + kind.describe(shared).substring("block at ".length()),
                      "each element in one block"));
            }
            return true;
          }
        });
    for (long[] hole : merged(holes, rank)) {
      long[] size = new long[rank];
      Arrays.setAll(size, axis -> hole[rank + axis] - hole[axis]);
      defects.add(
          RowFactory.create(
              "hole",
              kind.describe(Arrays.copyOf(hole, rank)) + group,
              "no block holds the " + Coverage.sizeText(size) + " elements from there",
              "each element in one block"));
    }
    return ScalaInterop.seq(defects);
  }

  private static boolean inside(long[] place, long[] from, long[] to) {
    for (int axis = 0; axis < place.length; axis++) {
      if (place[axis] < from[axis] || place[axis] >= to[axis]) {
        return false;
      }
    }
    return true;
  }

  /** Boxes in the order of their places, so that every run reports the same defects. */
  private static long[] sorted(scala.collection.Seq<Row> boxes, int rank) {
    List<long[]> list = new ArrayList<>();
    for (Row row : ScalaInterop.list(boxes)) {
      long[] box = new long[2 * rank];
      Arrays.setAll(box, row::getLong);
      list.add(box);
    }
    list.sort(Arrays::compare);
    return list.stream().flatMapToLong(Arrays::stream).toArray();
  }

  private static long[] longs(scala.collection.Seq<Long> numbers) {
    return ScalaInterop.list(numbers).stream().mapToLong(Long::longValue).toArray();
  }

  /** Joins adjacent holes, axis by axis. */
  private static List<long[]> merged(List<long[]> pieces, int rank) {
    List<long[]> list = pieces;
    for (int axis = rank - 1; axis >= 0; axis--) {
      int along = axis;
      list.sort(
          Comparator.<long[], long[]>comparing(
                  piece -> without(piece, along, rank), Arrays::compare)
              .thenComparing(piece -> piece[along]));
      List<long[]> joined = new ArrayList<>();
      for (long[] piece : list) {
        long[] last = joined.isEmpty() ? null : joined.get(joined.size() - 1);
        if (last != null
            && last[rank + along] == piece[along]
            && Arrays.equals(without(last, along, rank), without(piece, along, rank))) {
          last[rank + along] = piece[rank + along];
        } else {
          joined.add(piece);
        }
      }
      list = joined;
    }
    return list;
  }

  /** A hole's range along all axes but one; zeros along that one. */
  private static long[] without(long[] piece, int axis, int rank) {
    long[] rest = piece.clone();
    rest[axis] = 0;
    rest[rank + axis] = 0;
    return rest;
  }
}
