package org.tilespark.spark.nearest;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * A row of the left side with the best matching rows of the right side, the best first.
 *
 * @param number number of the row of the left side
 * @param left the row of the left side; null if the match of another task has it
 * @param winners the best rows of the right side
 */
record Match(long number, UnsafeRow left, Winners winners) {
  /**
   * Rows of the right side, the best first.
   *
   * @param grades grades of the rows, which order them; the greatest first
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Winners(double[] grades, UnsafeRow[] rows) {
    /** No rows. */
    static final Winners NONE = new Winners(new double[0], new UnsafeRow[0]);

    /**
     * The winners of the query that was taken last.
     *
     * @param copies true to copy the rows, since they do not stay in memory
     */
    static Winners of(NearestSearch found, VectorGroup right, boolean copies) {
      double[] grades = new double[found.count()];
      UnsafeRow[] rows = new UnsafeRow[grades.length];
      for (int i = 0; i < rows.length; i++) {
        grades[i] = found.grade(i);
        UnsafeRow row = right.row(found.index(i));
        rows[i] = copies ? row.copy() : row;
      }
      return new Winners(grades, rows);
    }

    /** Count of rows. */
    int count() {
      return rows.length;
    }

    /** The best of these rows and {@code other}'s, at most {@code k}. */
    Winners and(Winners other, int k) {
      if (count() == 0 || other.count() == 0) {
        return count() == 0 ? other : this;
      }
      int most = Math.min(k, count() + other.count());
      double[] merged = new double[most];
      UnsafeRow[] mergedRows = new UnsafeRow[most];
      int mine = 0;
      for (int i = 0; i < most; i++) {
        int its = i - mine;
        boolean isMine =
            its == other.count() || (mine < count() && grades[mine] >= other.grades[its]);
        merged[i] = isMine ? grades[mine] : other.grades[its];
        mergedRows[i] = isMine ? rows[mine++] : other.rows[its];
      }
      return new Winners(merged, mergedRows);
    }
  }
}
