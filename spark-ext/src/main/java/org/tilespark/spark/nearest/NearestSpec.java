package org.tilespark.spark.nearest;

import java.io.Serializable;
import org.tilespark.spark.multiply.scores.Reduction;
import org.tilespark.spark.options.Metric;

/**
 * A join of nearest vectors.
 *
 * @param k most rows of the right side for each row of the left one
 * @param metric metric of the distance of vectors
 * @param function SQL name of the metric's function
 * @param outer true to keep rows of the left side without a match
 */
public record NearestSpec(int k, Metric metric, String function, boolean outer)
    implements Serializable {
  /** The reduction of a tile of scores. */
  Reduction.Nearest reduction() {
    return new Reduction.Nearest(k, metric);
  }

  /** The text in EXPLAIN. */
  @Override
  public String toString() {
    return "%s by %s%s".formatted(k, function, outer ? ", left outer" : "");
  }
}
