package org.tilespark.spark.block;

import java.util.Arrays;

/** The places of the parts of which an array is put together, and the check that they tile it. */
public final class BoxList {
  private final int rank;
  private long[] boxes = new long[0]; // (count, 2, rank): offsets, then sizes
  private int count;

  public BoxList(int rank) {
    this.rank = rank;
  }

  public void clear() {
    count = 0;
  }

  public int count() {
    return count;
  }

  public void add(long[] offset, long[] size) {
    int at = Math.multiplyExact(2 * rank, count);
    if (at == boxes.length) {
      boxes = Arrays.copyOf(boxes, Math.max(16 * rank, Math.multiplyExact(2, at)));
    }
    System.arraycopy(offset, 0, boxes, at, rank);
    System.arraycopy(size, 0, boxes, at + rank, rank);
    count++;
  }

  /** All boxes, (count, 2, rank): of each its offset, then its sizes; a copy. */
  public long[] toArray() {
    return Arrays.copyOf(boxes, 2 * rank * count);
  }

  /**
   * Checks that each element of the array from {@code low} on is in one box.
   *
   * @param mayHaveHoles true if what is in none counts as zeros
   * @throws IllegalArgumentException that names the first element of which that is not so
   */
  public void check(
      long[] low, long[] size, BlockKind kind, boolean mayHaveHoles, String operator) {
    long[] high = new long[rank];
    Arrays.setAll(high, axis -> low[axis] + size[axis]);
    long[] found = toArray();
    Coverage.check(
        low,
        high,
        found,
        new Coverage.Findings() {
          @Override
          public boolean hole(long[] from, long[] to) {
            if (mayHaveHoles) {
              return true;
            }
            long[] extent = new long[rank];
            Arrays.setAll(extent, axis -> to[axis] - from[axis]);
            throw bad(
                kind,
                from,
                "no block of the input holds the "
                    + Coverage.sizeText(extent)
                    + " elements from there; expected each element in one block (missing=zero"
                    + " takes them for zeros)"
                    + staleExtents(),
                operator);
          }

          @Override
          public boolean overlap(int first, int second) {
            throw bad(
                kind,
                Coverage.sharedElement(rank, found, first, second),
                "two blocks of the input hold the element there: they share the pieces "
                    + Coverage.describe(kind, found, Math.min(first, second))
                    + " and "
                    + Coverage.describe(kind, found, Math.max(first, second))
                    + " with the target "
                    + kind.describe(low)
                    + "; expected each element in one block",
                operator);
          }
        });
  }

  public static String staleExtents() {
    return "; if the column metadata "
        + ArrayMetadata.EXTENTS
        + " is stale, state the extents with withExtents(df, ...) or drop them with"
        + " withoutExtents(df)";
  }

  public static IllegalArgumentException bad(
      BlockKind kind, long[] place, String defect, String operator) {
    return new IllegalArgumentException(
        kind.describe(place) + ": " + defect + " (in " + operator + ")");
  }
}
