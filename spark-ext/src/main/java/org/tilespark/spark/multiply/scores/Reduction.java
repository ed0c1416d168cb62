package org.tilespark.spark.multiply.scores;

import java.io.Serializable;
import java.math.BigInteger;
import org.tilespark.spark.options.Metric;

/**
 * The reduction of a tile of {@code A B^T} in the task that computes it. The rows of A are queries,
 * the rows of B are the vectors that they are compared with.
 */
public sealed interface Reduction extends Serializable {
  /** The metric that scores two vectors. */
  Metric metric();

  /** The reduction in words: {@code 10 nearest by cosine}. */
  String describe();

  /**
   * Bytes of candidates for each query if other tasks have other vectors for it; 0 if a task's
   * results are final.
   */
  long candidateBytes();

  /** This reduction if there are {@code vectors} vectors: at most that many neighbours. */
  Reduction of(long vectors);

  /** Most result rows for the queries of one matrix. */
  BigInteger rows(long queries, long vectors);

  /**
   * The best scores of each query.
   *
   * @param k number of neighbours; fewer if there are fewer vectors
   */
  record Nearest(int k, Metric metric) implements Reduction {
    /** Checks that {@code k} is at least 1. */
    public Nearest {
      if (k < 1) {
        throw new IllegalArgumentException("k is " + k + "; expected 1 or more");
      }
    }

    @Override
    public Reduction of(long vectors) {
      return new Nearest((int) Math.max(1, Math.min(k, vectors)), metric);
    }

    @Override
    public String describe() {
      return k + " nearest by " + metric;
    }

    @Override
    public long candidateBytes() {
      return 2L * Long.BYTES * k;
    }

    @Override
    public BigInteger rows(long queries, long vectors) {
      return BigInteger.valueOf(queries).multiply(BigInteger.valueOf(Math.min(k, vectors)));
    }
  }

  /**
   * All pairs that are as near as the threshold, or nearer.
   *
   * @param threshold the least score; for a distance the largest
   */
  record PairsAbove(double threshold, Metric metric) implements Reduction {
    /** Checks that the threshold is a number. */
    public PairsAbove {
      if (Double.isNaN(threshold)) {
        throw new IllegalArgumentException("threshold is NaN; expected a number");
      }
    }

    @Override
    public Reduction of(long vectors) {
      return this;
    }

    @Override
    public String describe() {
      return "pairs by "
          + metric
          + (metric == Metric.EUCLIDEAN ? " of at most " : " of at least ")
          + threshold;
    }

    @Override
    public long candidateBytes() {
      return 0;
    }

    @Override
    public BigInteger rows(long queries, long vectors) {
      return BigInteger.valueOf(queries).multiply(BigInteger.valueOf(vectors));
    }
  }
}
