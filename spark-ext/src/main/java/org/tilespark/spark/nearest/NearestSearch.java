package org.tilespark.spark.nearest;

import org.apache.spark.TaskContext;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.spark.multiply.scores.Neighbours;
import org.tilespark.spark.multiply.scores.TileSearch;
import org.tilespark.spark.multiply.scores.TileSides;
import org.tilespark.spark.multiply.scores.Vectors;
import org.tilespark.spark.options.Metric;

/**
 * Finds the nearest vectors of one group for those of another, some queries at a time.
 *
 * <p>{@link TileSearch} ranks scores of NaN last. Spark ranks NaN above all numbers, so it is the
 * best similarity. Only vectors with infinite or NaN elements have scores of NaN, so their scores
 * are computed one by one. If one of two other vectors is zero, their cosine is NaN in {@link
 * TileSearch} and NULL in Spark: they are no match.
 */
final class NearestSearch {
  private final NearestSpec spec;
  private final ScoreTiles tiles;
  private final VectorGroup left;
  private final VectorGroup right;
  private final Vectors queries;
  private final Vectors vectors;
  private final TileSides sides;
  private final TileSearch search;
  private int firstRow;
  private int rows;

  private int count; // number of vectors that were found
  private double[] grades = new double[0];
  private int[] indices = new int[0];

  /**
   * A search among the vectors of {@code right} for each vector of {@code left}; neither group is
   * empty. Borrows all.
   */
  NearestSearch(NearestSpec spec, ScoreTiles tiles, VectorGroup left, VectorGroup right) {
    this.spec = spec;
    this.tiles = tiles;
    this.left = left;
    this.right = right;
    this.queries = left.vectors();
    this.vectors = right.vectors();
    var reduction = spec.reduction().of(right.count());
    this.sides = tiles.sides(reduction, queries);
    this.search = TileSearch.of(reduction, sides, left.squares(), right.squares(), index -> index);
  }

  /** Searches for the queries from {@code first} on, and returns their number. */
  int search(int first) {
    TaskContext task = TaskContext.get();
    firstRow = first;
    rows = Math.min(sides.rows(), left.count() - first);
    search.rows(first, rows);
    if (queries.extent() == 0) {
      return rows; // vectors have no elements
    }
    for (int col = 0; col < right.count(); col += sides.cols()) {
      task.killTaskIfInterrupted();
      int cols = Math.min(sides.cols(), right.count() - col);
      tiles.multiply(queries, first, rows, vectors, col, cols);
      SelectedColumns selected = tiles.select(search.columns(col, cols));
      for (int row = 0; row < rows; row++) {
        search.reduce(selected, row);
      }
    }
    return rows;
  }

  /** Takes the results for one query of the last search; at most once per query. */
  void take(int query) {
    count = 0;
    if (queries.extent() == 0) {
      takeZeros();
      return;
    }
    Neighbours found = search.take(query - firstRow);
    int most = found.count();
    room(most);
    boolean largest = spec.metric() != Metric.EUCLIDEAN;
    if (largest) {
      takeNaNs(query, most);
    }
    for (int i = 0; i < found.count() && count < most; i++) {
      if (!largest || !Double.isNaN(found.key(i))) {
        add(gradeOf(found.key(i)), (int) found.place(i));
      }
    }
  }

  private void room(int most) {
    if (grades.length < most) {
      grades = new double[most];
      indices = new int[most];
    }
  }

  /** Takes results for vectors without elements, which all have the same score, or none. */
  private void takeZeros() {
    int most = spec.metric() == Metric.COSINE ? 0 : Math.min(spec.k(), right.count());
    room(most);
    for (int i = 0; i < most; i++) {
      add(0, i);
    }
  }

  private void takeNaNs(int query, int most) {
    boolean isBounded = Double.isFinite(left.squares().get(query));
    int candidates = isBounded ? right.unbounded().size() : right.count();
    for (int i = 0; i < candidates && count < most; i++) {
      int index = isBounded ? right.unbounded().get(i) : i;
      double score = queries.dot(query, vectors, index);
      if (spec.metric() == Metric.COSINE) {
        score /= Math.sqrt(left.squares().get(query)) * Math.sqrt(right.squares().get(index));
      }
      if (Double.isNaN(score)) {
        add(Double.POSITIVE_INFINITY, index);
      }
    }
  }

  private void add(double grade, int index) {
    grades[count] = grade;
    indices[count++] = index;
  }

  /**
   * A grade that orders candidates as Spark orders scores, the greatest first; never NaN. NaN is
   * mapped to infinity, and infinity to a number beyond all scores, which are FLOAT.
   */
  private double gradeOf(double key) {
    if (Double.isNaN(key)) {
      return spec.metric() == Metric.EUCLIDEAN
          ? Double.NEGATIVE_INFINITY
          : Double.POSITIVE_INFINITY;
    }
    return Math.max(-Double.MAX_VALUE, Math.min(key, Double.MAX_VALUE));
  }

  /** Count of vectors that were found. */
  int count() {
    return count;
  }

  /** Grade of one of the found vectors; the best one is first. */
  double grade(int index) {
    return grades[index];
  }

  /** Index of one of the found vectors in the group on the right. */
  int index(int index) {
    return indices[index];
  }
}
