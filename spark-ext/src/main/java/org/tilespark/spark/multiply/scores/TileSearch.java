package org.tilespark.spark.multiply.scores;

import java.util.function.LongUnaryOperator;
import org.tilespark.kernels.select.ColumnSelection;
import org.tilespark.kernels.select.SelectedColumns;
import org.tilespark.spark.options.Metric;

/**
 * Collects results from the tiles that a task reduces. For some queries: call {@link #rows}; then,
 * for each of their tiles, {@link #columns} and {@link #reduce} for each row. {@link #take} gives
 * the results for a row: after all tiles in a search for the nearest, after each tile in a search
 * for all pairs. Used by one thread.
 */
public abstract sealed class TileSearch {
  protected final TileScores scores;
  private final LongUnaryOperator places;
  private long firstCol;

  private TileSearch(Metric metric, VectorSquares a, VectorSquares b, LongUnaryOperator places) {
    this.scores = new TileScores(metric, a, b);
    this.places = places;
  }

  /**
   * A search among the rows of {@code b}, for each row of {@code a}.
   *
   * @param places maps the index of a row of {@code b} to its place, which results name
   */
  public static TileSearch of(
      Reduction reduction,
      TileSides sides,
      VectorSquares a,
      VectorSquares b,
      LongUnaryOperator places) {
    return reduction instanceof Reduction.Nearest nearest
        ? new OfNearest(nearest, new BestScores(sides.rows(), nearest.k()), false, a, b, places)
        : new OfPairs((Reduction.PairsAbove) reduction, a, b, places);
  }

  /**
   * A search for the nearest that continues earlier searches.
   *
   * @param best best candidates of all queries so far; borrowed, and updated by this search
   */
  public static TileSearch of(
      Reduction.Nearest nearest,
      BestScores best,
      VectorSquares a,
      VectorSquares b,
      LongUnaryOperator places) {
    return new OfNearest(nearest, best, true, a, b, places);
  }

  /** Begins with the queries from {@code first} on. */
  public void rows(long first, int rows) {
    scores.rows(first, rows);
  }

  /** Begins a tile of the vectors from {@code first} on; returns the selection to make in it. */
  public final ColumnSelection columns(long first, int cols) {
    firstCol = first;
    return columnsFrom(first, cols);
  }

  abstract ColumnSelection columnsFrom(long first, int cols);

  /** Reduces a row of a tile, by the columns that were selected in it. */
  public abstract void reduce(SelectedColumns selected, int row);

  /** The results for a row, valid until the next call; clears them. */
  public abstract Neighbours take(int row);

  protected final long place(int col) {
    return places.applyAsLong(firstCol + col);
  }

  /** The score of a key: distances are the negatives of their keys. */
  public static double score(Metric metric, double key) {
    return metric == Metric.EUCLIDEAN ? -key : key;
  }

  /** Keeps the best of each row. */
  private static final class OfNearest extends TileSearch {
    private final int k;
    private final BestScores best;
    // True if best has a query for each row of a, false if it has one for each row of a tile
    private final boolean isOfAll;
    private final Neighbours taken = new Neighbours();
    private int firstRow; // index in best of the query in a tile's first row

    OfNearest(
        Reduction.Nearest nearest,
        BestScores best,
        boolean isOfAll,
        VectorSquares a,
        VectorSquares b,
        LongUnaryOperator places) {
      super(nearest.metric(), a, b, places);
      this.k = nearest.k();
      this.best = best;
      this.isOfAll = isOfAll;
    }

    @Override
    public void rows(long first, int rows) {
      super.rows(first, rows);
      if (isOfAll) {
        firstRow = Math.toIntExact(first);
      } else {
        best.clear();
      }
    }

    @Override
    ColumnSelection columnsFrom(long first, int cols) {
      return scores.columns(first, cols, row -> best.least(firstRow + row), k);
    }

    @Override
    public void reduce(SelectedColumns selected, int row) {
      int candidates = selected.select(row);
      for (int i = 0; i < candidates; i++) {
        int col = selected.column(i);
        best.offer(firstRow + row, scores.key(row, col), place(col));
      }
    }

    @Override
    public Neighbours take(int row) {
      best.take(firstRow + row, taken);
      return taken;
    }
  }

  /** Keeps all pairs of one row. */
  private static final class OfPairs extends TileSearch {
    private final double least; // least key of a pair
    private final Neighbours pairs = new Neighbours();

    OfPairs(
        Reduction.PairsAbove above, VectorSquares a, VectorSquares b, LongUnaryOperator places) {
      super(above.metric(), a, b, places);
      this.least = score(above.metric(), above.threshold()); // score is its own inverse
    }

    @Override
    ColumnSelection columnsFrom(long first, int cols) {
      return scores.columns(first, cols, row -> least, 0);
    }

    @Override
    public void reduce(SelectedColumns selected, int row) {
      pairs.resize(0);
      int candidates = selected.select(row);
      for (int i = 0; i < candidates; i++) {
        int col = selected.column(i);
        double key = scores.key(row, col);
        if (key >= least) {
          pairs.add(key, place(col));
        }
      }
    }

    @Override
    public Neighbours take(int row) {
      return pairs;
    }
  }
}
