package org.tilespark.spark.multiply.scores;

import java.util.function.LongUnaryOperator;
import org.tilespark.kernels.memory.HostMemory;
import org.tilespark.spark.options.Metric;

/**
 * What a task finds in the tiles that it reduces. The life of some queries: {@link #rows}, then of
 * each of their tiles {@link #columns}, and {@link #reduce} for each row. {@link #take} gives what
 * was found for a row: after all tiles where the nearest are sought, after each where all pairs
 * are. Used by one thread.
 */
public abstract sealed class TileSearch {
  protected final TileScores scores;
  private final LongUnaryOperator places;
  private long firstCol;

  private TileSearch(Metric metric, Vectors a, Vectors b, LongUnaryOperator places) {
    this.scores = new TileScores(metric, a, b);
    this.places = places;
  }

  /**
   * A search of the rows of {@code b} for those of {@code a}.
   *
   * @param places of the rows of {@code b}, by their index there
   */
  public static TileSearch of(
      Reduction reduction, TileSides sides, Vectors a, Vectors b, LongUnaryOperator places) {
    return reduction instanceof Reduction.Nearest nearest
        ? new OfNearest(nearest, sides, a, b, places)
        : new OfPairs((Reduction.PairsAbove) reduction, a, b, places);
  }

  /** Begins with the queries from {@code first} on. */
  public void rows(long first, int rows) {
    scores.rows(first, rows);
  }

  /** Begins a tile of the vectors from {@code first} on. */
  public final void columns(long first, int cols) {
    firstCol = first;
    scores.columns(first, cols);
  }

  /**
   * Reduces a row of a tile.
   *
   * @param tile rows x columns of {@code A B^T}, row-major
   */
  public abstract void reduce(HostMemory tile, int row);

  /** What was found for a row, valid until the next call; and forgets it. */
  public abstract Neighbours take(int row);

  protected final long place(int col) {
    return places.applyAsLong(firstCol + col);
  }

  /** The score that has a key. */
  public static double score(Metric metric, double key) {
    return metric == Metric.EUCLIDEAN ? -key : key;
  }

  /** Keeps the best of each row. */
  private static final class OfNearest extends TileSearch {
    private final int k;
    private final BestScores best;
    private final Neighbours taken = new Neighbours();

    OfNearest(
        Reduction.Nearest nearest,
        TileSides sides,
        Vectors a,
        Vectors b,
        LongUnaryOperator places) {
      super(nearest.metric(), a, b, places);
      this.k = nearest.k();
      this.best = new BestScores(sides.rows(), k);
    }

    @Override
    public void rows(long first, int rows) {
      super.rows(first, rows);
      best.clear();
    }

    @Override
    public void reduce(HostMemory tile, int row) {
      int candidates = scores.find(tile, row, best.least(row), k);
      for (int i = 0; i < candidates; i++) {
        int col = scores.found(i);
        best.offer(row, scores.key(row, col), place(col));
      }
    }

    @Override
    public Neighbours take(int row) {
      best.take(row, taken);
      return taken;
    }
  }

  /** Keeps all pairs of one row. */
  private static final class OfPairs extends TileSearch {
    private final double least; // key
    private final Neighbours pairs = new Neighbours();

    OfPairs(Reduction.PairsAbove above, Vectors a, Vectors b, LongUnaryOperator places) {
      super(above.metric(), a, b, places);
      this.least = score(above.metric(), above.threshold()); // its own inverse
    }

    @Override
    public void reduce(HostMemory tile, int row) {
      pairs.resize(0);
      int candidates = scores.find(tile, row, least, 0);
      for (int i = 0; i < candidates; i++) {
        int col = scores.found(i);
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
