package org.tilespark.spark.error;

import java.util.Collection;
import java.util.Locale;
import org.apache.commons.text.similarity.LevenshteinDistance;

/** Suggestions for a misspelt name: the end of an error message. */
public final class Suggestions {
  private Suggestions() {}

  /**
   * Suggests the known name nearest to an unknown one; case is ignored. A name is near if at most
   * half of its letters must be inserted, removed or replaced.
   *
   * @param found the unknown name
   * @param known the accepted names
   * @return {@code "; did you mean 'axes'?"}, or "" if no name is near
   */
  public static String didYouMean(String found, Collection<String> known) {
    String wanted = found.toLowerCase(Locale.ROOT);
    String nearest = null;
    int fewest = Integer.MAX_VALUE;
    for (String name : known) {
      int edits =
          LevenshteinDistance.getDefaultInstance().apply(wanted, name.toLowerCase(Locale.ROOT));
      if (edits < fewest && 2 * edits <= Math.max(wanted.length(), name.length())) {
        nearest = name;
        fewest = edits;
      }
    }
    return nearest == null ? "" : "; did you mean '" + nearest + "'?";
  }
}
