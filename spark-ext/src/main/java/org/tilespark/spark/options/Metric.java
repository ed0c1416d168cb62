package org.tilespark.spark.options;

import java.util.Locale;
import org.tilespark.spark.error.Require;

/** Scores of two vectors. */
public enum Metric {
  /** The inner product of two vectors; larger is nearer. */
  INNER,
  /**
   * The inner product of two vectors over the product of their norms; larger is nearer. NaN if a
   * vector is zero.
   */
  COSINE,
  /** The norm of the difference of two vectors; smaller is nearer. */
  EUCLIDEAN;

  /**
   * Reads {@code inner}, {@code cosine} or {@code euclidean}, ignoring case.
   *
   * @param what the parameter, for messages
   * @throws IllegalArgumentException if the text is none of them
   */
  public static Metric parse(String what, String text) {
    Require.given(what, "Metric.parse", "what");
    Require.given(text, "Metric.parse", "text");
    for (Metric metric : values()) {
      if (metric.toString().equalsIgnoreCase(text.trim())) {
        return metric;
      }
    }
    throw new IllegalArgumentException(
        what + " is '" + text + "'; expected inner, cosine or euclidean");
  }

  /** The name as users write it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
