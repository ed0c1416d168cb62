package org.tilespark.spark.options;

import java.util.Locale;
import org.tilespark.spark.error.Require;

/** Treatment of missing blocks by an operator that combines blocks. */
public enum Missing {
  /** Fails with a message that names the place. */
  ERROR,
  /**
   * Takes the elements for zeros. A product leaves out each term of which a factor is in no block,
   * so NaN and infinity times a missing element are 0, in every tiling and by every strategy. The
   * zeros that other operators store, as a re-block or a sum, are elements like others from then
   * on: infinity times one of these is NaN.
   */
  ZERO;

  /** Advice for the end of a message that names a hole: not every operator has the option. */
  public static final String HELP =
      "with missing=zero this operator, or a re-block before it if it has no such option, takes them"
          + " for zeros";

  /**
   * Reads {@code error} or {@code zero}, in any case.
   *
   * @param what source of the text, for the message
   * @throws IllegalArgumentException if it is neither
   */
  public static Missing parse(String what, String text) {
    Require.given(what, "Missing.parse", "what");
    Require.given(text, "Missing.parse", "text");
    for (Missing missing : values()) {
      if (missing.toString().equalsIgnoreCase(text.trim())) {
        return missing;
      }
    }
    throw new IllegalArgumentException(what + " is '" + text + "'; expected error or zero");
  }

  /** The name as users write it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
