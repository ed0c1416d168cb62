package org.tilespark.spark.multiply.scores;

import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.options.Metric;
import sun.misc.Unsafe;

/**
 * The scores of some queries and some vectors. A tile of {@code A B^T} gives an estimate of each
 * score, and the norms a bound of its error; only where these cannot rule a pair out is its score
 * computed from the vectors, in double and in the order of their elements. So results do not depend
 * on who computed the tile, or where tiles are cut.
 *
 * <p>Scores are compared by <em>keys</em>: a larger key is nearer, so the key of a distance is its
 * negative. Estimates are compared in a unit of the query's own:
 *
 * <pre>
 *   inner product   a.b            error  g |a| |b|
 *   cosine          a.b / |b|      error  g |a|
 *   distance        2 a.b - |b|^2  error  2 g |a| |b| + h (|a|^2 + |b|^2)
 * </pre>
 *
 * where g is a bound of the relative error of a sum of as many products as a vector has elements,
 * in the tile's type, and h one of the sums in double. Where sums may exceed the tile's type, and
 * where a norm is infinite or NaN, no pair is ruled out.
 */
final class TileScores {
  private static final double ROUNDING = 0x1p-53;

  /** Elements from which a bound of a sum's error would say nothing. */
  private static final double MOST_ERROR = 0.25;

  private static final Unsafe UNSAFE = HostMemory.unsafe();

  private final Metric metric;
  private final Vectors a;
  private final Vectors b;
  private final boolean single;
  private final double relative; // g
  private final double squared; // h
  private final double tiny; // what products below the type's range may amount to
  private final double largest; // sums of a larger product of norms may exceed the type

  private long firstRow;
  private double[] rowNorms = new double[0];
  private double[] rowSquares = rowNorms;

  private long firstCol;
  private int cols;
  private double[] norms = new double[0];
  private double[] scale = norms; // by which a column's element is multiplied
  private double[] shift = norms; // what is added then
  private double[] perNorm = norms; // error of a query of norm 1
  private double[] errors = norms; // error of any query, beside
  private double mostNorm;
  private double mostPerNorm;
  private double mostError;

  private int[] found = new int[0];
  private double[] bounds = norms; // what the keys of those found are at most, in the query's unit
  private BestScores sure = new BestScores(1, 1); // what keys are at least

  /** Scores of two operands. */
  TileScores(Metric metric, Vectors a, Vectors b) {
    this.metric = metric;
    this.a = a;
    this.b = b;
    this.single = a.type() == ElementType.FLOAT32;
    double rounding = single ? 0x1p-24 : ROUNDING;
    double terms = a.extent() + 16.0;
    this.relative =
        terms * rounding > MOST_ERROR
            ? Double.POSITIVE_INFINITY
            : 2 * terms * (rounding + ROUNDING);
    this.squared = 8 * terms * ROUNDING;
    this.tiny = terms * (single ? 0x1p-122 : 0x1p-1018);
    this.largest = single ? 1e38 : 1e300;
  }

  /** The queries from {@code first} on become the rows. */
  void rows(long first, int count) {
    firstRow = first;
    if (rowNorms.length < count) {
      rowNorms = new double[count];
      rowSquares = new double[count];
    }
    for (int row = 0; row < count; row++) {
      rowSquares[row] = a.squares(first + row);
      rowNorms[row] = Math.sqrt(rowSquares[row]);
    }
  }

  /** The vectors from {@code first} on become the columns. */
  void columns(long first, int count) {
    firstCol = first;
    cols = count;
    if (norms.length < count) {
      norms = new double[count];
      scale = new double[count];
      shift = new double[count];
      perNorm = new double[count];
      errors = new double[count];
      found = new int[count];
      bounds = new double[count];
    }
    mostNorm = 0;
    mostPerNorm = 0;
    mostError = 0;
    for (int col = 0; col < count; col++) {
      double squares = b.squares(first + col);
      norms[col] = Math.sqrt(squares);
      estimate(col, squares);
      if (hasScores(norms[col])) {
        mostNorm = Math.max(mostNorm, norms[col]);
        mostPerNorm = Math.max(mostPerNorm, perNorm[col]);
        mostError = Math.max(mostError, errors[col]);
      } else {
        scale[col] = Double.NaN; // an estimate that rules nothing out
      }
    }
  }

  /** How estimates of a column are made, and how wrong they may be. */
  private void estimate(int col, double squares) {
    double norm = norms[col];
    switch (metric) {
      case INNER -> {
        scale[col] = 1;
        shift[col] = 0;
        perNorm[col] = relative * norm;
        errors[col] = tiny;
      }
      case COSINE -> {
        scale[col] = 1 / norm;
        shift[col] = 0;
        perNorm[col] = relative + 16 * ROUNDING;
        errors[col] = tiny / norm;
      }
      case EUCLIDEAN -> {
        scale[col] = 2;
        shift[col] = -squares;
        perNorm[col] = 2 * relative * norm;
        errors[col] = 2 * tiny + squared * squares;
      }
    }
  }

  /** False if each score of a vector of this norm is NaN. */
  private boolean hasScores(double norm) {
    return !Double.isNaN(norm) && !(metric == Metric.COSINE && norm == 0);
  }

  /**
   * Finds the columns whose keys may be large enough; {@link #found} lists them, ascending.
   *
   * @param tile rows x columns of {@code A B^T}, row-major
   * @param leastKey a smaller key is not
   * @param best how many keys of the row are wanted, at most; 0 if all are
   * @return how many were found
   */
  int find(HostMemory tile, int row, double leastKey, int best) {
    if (!hasScores(rowNorms[row])) {
      for (int col = 0; col < cols; col++) {
        found[col] = col;
      }
      return cols;
    }
    if (best > 0) {
      if (sure.most() != best) {
        sure = new BestScores(1, best);
      }
      sure.clear();
    }
    double norm = rowNorms[row];
    double errorOfRow = metric == Metric.EUCLIDEAN ? squared * rowSquares[row] : 0;
    double widest =
        norm * mostNorm <= largest
            ? norm * mostPerNorm + mostError + errorOfRow
            : Double.POSITIVE_INFINITY;
    double least = unit(row, leastKey);
    double pass = least - widest;
    int width = single ? Float.BYTES : Double.BYTES;
    Object base = tile.base();
    long at = tile.offset() + (long) row * cols * width;
    int count = 0;
    for (int col = 0; col < cols; col++, at += width) {
      double element = single ? UNSAFE.getFloat(base, at) : UNSAFE.getDouble(base, at);
      double estimate = element * scale[col] + shift[col];
      if (estimate < pass) {
        continue; // most columns; NaN goes on
      }
      double error =
          norm * norms[col] <= largest
              ? norm * perNorm[col] + errors[col] + errorOfRow
              : Double.POSITIVE_INFINITY;
      if (estimate + error < least) {
        continue;
      }
      found[count] = col;
      bounds[count++] = estimate + error;
      if (best > 0 && estimate - error > least) {
        sure.offer(0, estimate - error, col);
        least = Math.max(least, sure.least(0));
        pass = least - widest;
      }
    }
    return best > 0 ? above(least, count) : count;
  }

  /** Keeps the columns whose keys may still be large enough. */
  private int above(double least, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
      if (!(bounds[i] < least)) {
        found[kept++] = found[i];
      }
    }
    return kept;
  }

  /** A key in the unit of a query's estimates, or less. */
  private double unit(int row, double key) {
    double squares = rowSquares[row];
    double norm = rowNorms[row];
    double unit =
        switch (metric) {
          case INNER -> key;
          case COSINE -> key * norm - 16 * ROUNDING * norm;
          case EUCLIDEAN -> squares - key * key - squared * (squares + key * key);
        };
    return unit > Double.NEGATIVE_INFINITY ? unit : Double.NEGATIVE_INFINITY; // which NaN is not
  }

  /** A column that {@link #find} found. */
  int found(int index) {
    return found[index];
  }

  /** The key of a pair, from its vectors. */
  double key(int row, int col) {
    double norm = rowNorms[row];
    if (!hasScores(norm) || !hasScores(norms[col])) {
      return Double.NaN;
    }
    long i = firstRow + row;
    long j = firstCol + col;
    return switch (metric) {
      case INNER -> a.dot(i, b, j);
      case COSINE -> a.dot(i, b, j) / (norm * norms[col]);
      case EUCLIDEAN -> -a.distance(i, b, j);
    };
  }
}
