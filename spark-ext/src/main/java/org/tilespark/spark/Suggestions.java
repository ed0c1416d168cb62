package org.tilespark.spark;

import java.util.Collection;
import java.util.Locale;

/** What somebody may have meant who wrote a name that there is not. */
public final class Suggestions {
  private Suggestions() {}

  /**
   * The known name that is nearest to the one found, for the end of a message: {@code "; did you
   * mean 'axes'?"}. Case does not count. A name is near if less than half of its letters were
   * added, left out, changed or exchanged with their neighbours.
   *
   * @return "" if no name is near
   */
  public static String didYouMean(String found, Collection<String> known) {
    String wanted = found.toLowerCase(Locale.ROOT);
    String nearest = null;
    int least = Integer.MAX_VALUE;
    for (String name : known) {
      int edits = edits(wanted, name.toLowerCase(Locale.ROOT));
      if (edits < least && 2 * edits < Math.max(wanted.length(), name.length())) {
        least = edits;
        nearest = name;
      }
    }
    return nearest == null ? "" : "; did you mean '" + nearest + "'?";
  }

  /** The edit distance of Damerau and Levenshtein, where no part is edited twice. */
  private static int edits(String from, String to) {
    int[][] edits = new int[from.length() + 1][to.length() + 1];
    for (int i = 0; i <= from.length(); i++) {
      for (int j = 0; j <= to.length(); j++) {
        if (i == 0 || j == 0) {
          edits[i][j] = i + j;
          continue;
        }
        boolean isSame = from.charAt(i - 1) == to.charAt(j - 1);
        edits[i][j] =
            Math.min(
                edits[i - 1][j - 1] + (isSame ? 0 : 1),
                Math.min(edits[i - 1][j], edits[i][j - 1]) + 1);
        boolean areExchanged =
            i > 1
                && j > 1
                && from.charAt(i - 1) == to.charAt(j - 2)
                && from.charAt(i - 2) == to.charAt(j - 1);
        if (areExchanged) {
          edits[i][j] = Math.min(edits[i][j], edits[i - 2][j - 2] + 1);
        }
      }
    }
    return edits[from.length()][to.length()];
  }
}
