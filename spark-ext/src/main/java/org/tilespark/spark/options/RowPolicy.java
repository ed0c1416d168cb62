package org.tilespark.spark.options;

import java.util.Locale;

/** Policies for a row whose vector is NULL, has NULL or NaN elements, or has a different length. */
public enum RowPolicy {
  /** The query fails with a message that names the row. */
  ERROR,
  /** The row is left out; the places of the rows after it move up. */
  SKIP,
  /** Missing elements, and NaN, become zero. */
  ZERO,
  /** The values stay as they are; for NaN only. */
  KEEP;

  /** The policy that a user's word names; the word must be valid. */
  static RowPolicy of(String word) {
    return valueOf(word.toUpperCase(Locale.ROOT));
  }

  /** The name as users write it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
