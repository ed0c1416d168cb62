package org.tilespark.spark.multiply.scores;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.tilespark.spark.options.Metric;

/**
 * Nearest neighbours and pairs by plain loops over all pairs, in double: what tests compare with.
 */
public final class Scores {
  private Scores() {}

  /** A neighbour of a query; equal if place and score are, bit by bit. */
  public record Found(long query, long place, double score) {}

  /**
   * The nearest rows of {@code b} of each row of {@code a}, the best one first.
   *
   * @param a (m, extent), row-major
   * @param b (n, extent), row-major
   */
  public static List<Found> nearest(double[] a, double[] b, int extent, int k, Metric metric) {
    List<Found> found = new ArrayList<>();
    for (int i = 0; i < a.length / extent; i++) {
      List<Found> all = new ArrayList<>();
      for (int j = 0; j < b.length / extent; j++) {
        all.add(new Found(i, j, score(a, i, b, j, extent, metric)));
      }
      all.sort(order(metric));
      found.addAll(all.subList(0, Math.min(k, all.size())));
    }
    return found;
  }

  /** The pairs that are as near as the threshold. */
  public static List<Found> pairs(
      double[] a, double[] b, int extent, double threshold, Metric metric) {
    List<Found> found = new ArrayList<>();
    for (int i = 0; i < a.length / extent; i++) {
      for (int j = 0; j < b.length / extent; j++) {
        double score = score(a, i, b, j, extent, metric);
        if (metric == Metric.EUCLIDEAN ? score <= threshold : score >= threshold) {
          found.add(new Found(i, j, score));
        }
      }
    }
    return found;
  }

  /** The order of scores: NaN last, zeros of both signs equal, ties by place. */
  private static Comparator<Found> order(Metric metric) {
    Comparator<Found> byScore =
        (x, y) -> {
          if (Double.isNaN(x.score) || Double.isNaN(y.score)) {
            return Boolean.compare(Double.isNaN(x.score), Double.isNaN(y.score));
          }
          int larger = x.score > y.score ? -1 : x.score < y.score ? 1 : 0;
          return metric == Metric.EUCLIDEAN ? -larger : larger;
        };
    return byScore.thenComparingLong(Found::place);
  }

  private static double score(double[] a, int i, double[] b, int j, int extent, Metric metric) {
    double dot = 0;
    double squaresA = 0;
    double squaresB = 0;
    double squares = 0;
    for (int k = 0; k < extent; k++) {
      double x = a[i * extent + k];
      double y = b[j * extent + k];
      dot += x * y;
      squaresA += x * x;
      squaresB += y * y;
      squares += (x - y) * (x - y);
    }
    return switch (metric) {
      case INNER -> dot;
      case COSINE -> dot / (Math.sqrt(squaresA) * Math.sqrt(squaresB));
      case EUCLIDEAN -> Math.sqrt(squares);
    };
  }
}
