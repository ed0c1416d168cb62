package org.tilespark.spark;

import java.util.Collection;
import java.util.Locale;

/** What a misspelt name may have meant: the end of an error message. */
public final class Suggestions {
  private Suggestions() {}

  /**
   * The known name that differs least from a name that is unknown; case is ignored.
   *
   * @param found the unknown name
   * @param known the names that would do
   * @return {@code "; did you mean 'x'?"}, or nothing if no known name is close
   */
  public static String didYouMean(String found, Collection<String> known) {
    int limit = Math.max(1, found.length() / 3);
    String best = null;
    int fewest = limit + 1;
    for (String name : known) {
      int edits = edits(found.toLowerCase(Locale.ROOT), name.toLowerCase(Locale.ROOT));
      if (edits < fewest) {
        best = name;
        fewest = edits;
      }
    }
    return best == null ? "" : "; did you mean '" + best + "'?";
  }

  /** Characters to insert, remove, replace or swap with a neighbour (optimal string alignment). */
  private static int edits(String a, String b) {
    int[][] edits = new int[a.length() + 1][b.length() + 1]; // of the first i and j characters
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          edits[i][j] = i + j;
          continue;
        }
        int replaced = edits[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        edits[i][j] = Math.min(replaced, 1 + Math.min(edits[i - 1][j], edits[i][j - 1]));
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          edits[i][j] = Math.min(edits[i][j], 1 + edits[i - 2][j - 2]);
        }
      }
    }
    return edits[a.length()][b.length()];
  }
}
