package org.tilespark.spark.multiply.scores;

import java.util.function.IntToDoubleFunction;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.options.Metric;

/**
 * The scores of some queries and some vectors. A tile of {@code A B^T} gives an estimate of each
 * score, and the norms a bound of its error; only where these cannot rule a pair out is its score
 * computed from the vectors, in double and in the order of their elements. So results do not depend
 * on the device that computed the tile, or on the cut into tiles.
 *
 * <p>Scores are compared by <em>keys</em>: a larger key is nearer, so the key of a distance is its
 * negative. Estimates are compared in a unit that depends on the query:
 *
 * <pre>
 *   inner product   a.b            error  g |a| |b|
 *   cosine          a.b / |b|      error  g |a|
 *   distance        2 a.b - |b|^2  error  2 g |a| |b| + h (|a|^2 + |b|^2)
 * </pre>
 *
 * where g is a bound of the relative error of a sum of as many products as a vector has elements,
 * in the tile's type, and h a bound of the relative error of a sum of squares in double. Squares of
 * small elements underflow, so the norms in the bounds are enlarged accordingly. If sums may exceed
 * the tile's type, or if a norm is infinite or NaN, no pair is ruled out.
 */
final class TileScores {
  private static final double ROUNDING = 0x1p-53;

  /** Largest relative error bound that is still useful. */
  private static final double MOST_ERROR = 0.25;

  private final Metric metric;
  private final VectorSquares squaresA;
  private final VectorSquares squaresB;
  private final Vectors a;
  private final Vectors b;
  private final boolean single;
  private final double relative; // g in the class comment
  private final double squared; // h in the class comment
  private final double tiny; // bound of a sum of products that underflow in the tile's type
  private final double lost; // bound of the sum of squares that underflow in double
  private final double largest; // sums may exceed the tile's type if a product of norms is larger

  private long firstRow;
  private int rows;
  private double[] rowNorms = new double[0]; // norms of rows; NaN if each score of the row is NaN
  private double[] rowMost = rowNorms; // upper bounds of rowNorms
  private double[] rowSquares = rowNorms;
  private double[] rowErrors = rowNorms;
  private double[] least = rowNorms; // least key of each row, in the row's unit

  private long firstCol;
  private double[] norms = new double[0];
  private double[] most = norms; // upper bounds of the columns' norms
  private double[] scale = norms; // factor of each column's elements
  private double[] shift = norms; // number added to each column's elements after scaling
  private double[] perNorm = norms; // error bound of each column for a query of norm 1
  private double[] errors = norms; // further error bound of each column, for any query

  /** Scores of two operands. */
  TileScores(Metric metric, VectorSquares squaresA, VectorSquares squaresB) {
    this.metric = metric;
    this.squaresA = squaresA;
    this.squaresB = squaresB;
    this.a = squaresA.vectors();
    this.b = squaresB.vectors();
    this.single = a.type() == ElementType.FLOAT32;
    double rounding = single ? 0x1p-24 : ROUNDING;
    double terms = a.extent() + 16.0;
    this.relative =
        terms * rounding > MOST_ERROR
            ? Double.POSITIVE_INFINITY
            : 2 * terms * (rounding + ROUNDING);
    this.squared = 8 * terms * ROUNDING;
    this.tiny = terms * (single ? 0x1p-122 : 0x1p-1018);
    this.lost = terms * Double.MIN_VALUE;
    this.largest = single ? 1e38 : 1e300;
  }

  /** The queries from {@code first} on become the rows. */
  void rows(long first, int count) {
    firstRow = first;
    rows = count;
    if (rowNorms.length < count) {
      rowNorms = new double[count];
      rowMost = new double[count];
      rowSquares = new double[count];
      rowErrors = new double[count];
      least = new double[count];
    }
    for (int row = 0; row < count; row++) {
      double squares = squaresA.get(first + row);
      double norm = Math.sqrt(squares);
      rowSquares[row] = squares;
      rowNorms[row] = hasScores(norm) ? norm : Double.NaN;
      rowMost[row] = hasScores(norm) ? Math.sqrt(squares + lost) : Double.NaN;
      rowErrors[row] = metric == Metric.EUCLIDEAN ? squared * squares : 0;
    }
  }

  /**
   * Starts a tile whose columns are the vectors from {@code first} on.
   *
   * @param leastKey least key by row; smaller ones are not sought
   * @param wanted most keys sought in a row; 0 for all
   * @return the columns whose keys may be large enough, by a tile of {@code A B^T}; borrowed until
   *     the next call
   */
  ColumnSelection columns(long first, int count, IntToDoubleFunction leastKey, int wanted) {
    firstCol = first;
    if (norms.length < count) {
      norms = new double[count];
      most = new double[count];
      scale = new double[count];
      shift = new double[count];
      perNorm = new double[count];
      errors = new double[count];
    }
    double mostNorm = 0;
    double mostPerNorm = 0;
    double mostError = 0;
    for (int col = 0; col < count; col++) {
      double squares = squaresB.get(first + col);
      norms[col] = Math.sqrt(squares);
      most[col] = Math.sqrt(squares + lost);
      estimate(col, squares);
      if (hasScores(norms[col])) {
        mostNorm = Math.max(mostNorm, most[col]);
        mostPerNorm = Math.max(mostPerNorm, perNorm[col]);
        mostError = Math.max(mostError, errors[col]);
      } else {
        scale[col] = Double.NaN; // an estimate that rules nothing out
      }
    }
    for (int row = 0; row < rows; row++) {
      least[row] = unit(row, leastKey.applyAsDouble(row));
    }
    return new ColumnSelection(
        a.type(),
        new ColumnSelection.Rows(rows, rowMost, rowErrors, least),
        new ColumnSelection.Columns(
            count,
            scale,
            shift,
            perNorm,
            errors,
            most,
            new ColumnSelection.Most(mostNorm, mostPerNorm, mostError)),
        wanted,
        largest);
  }

  /** Computes scale and shift of a column's estimates, and their error bounds. */
  private void estimate(int col, double squares) {
    double norm = norms[col];
    switch (metric) {
      case INNER -> {
        scale[col] = 1;
        shift[col] = 0;
        perNorm[col] = relative * most[col];
        errors[col] = tiny;
      }
      case COSINE -> {
        scale[col] = 1 / norm;
        shift[col] = 0;
        perNorm[col] = (relative + 16 * ROUNDING) * (most[col] / norm);
        errors[col] = tiny / norm;
      }
      case EUCLIDEAN -> {
        scale[col] = 2;
        shift[col] = -squares;
        perNorm[col] = 2 * relative * most[col];
        errors[col] = 2 * tiny + squared * squares;
      }
    }
  }

  /** False if each score of a vector with this norm is NaN. */
  private boolean hasScores(double norm) {
    return !Double.isNaN(norm) && !(metric == Metric.COSINE && norm == 0);
  }

  /**
   * A key converted to the unit of a query's estimates, or a lower number: rounding must not raise
   * it.
   */
  private double unit(int row, double key) {
    double squares = rowSquares[row];
    double norm = rowNorms[row];
    double unit =
        switch (metric) {
          case INNER -> key;
          case COSINE -> key * norm - 16 * ROUNDING * Math.max(norm, Math.abs(key * norm));
          case EUCLIDEAN -> squares - key * key - squared * (squares + key * key);
        };
    // A comparison with NaN is false
    return unit > Double.NEGATIVE_INFINITY ? unit : Double.NEGATIVE_INFINITY;
  }

  /** The key of a pair, from its vectors. */
  double key(int row, int col) {
    double norm = rowNorms[row];
    if (Double.isNaN(norm) || !hasScores(norms[col])) {
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
