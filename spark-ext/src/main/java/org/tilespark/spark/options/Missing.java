package org.tilespark.spark.options;

import java.util.Locale;
import org.tilespark.spark.error.Require;

/** Treatment of missing blocks in operators that combine blocks. */
public enum Missing {
  /** Fails with a message that names the place. */
  ERROR,
  /**
   * Missing elements are zeros. A product skips each term with a factor in no block, so NaN and
   * infinity times a missing element are 0, for every tiling and strategy. Zeros that other
   * operators store, for example a re-block or a sum, are then ordinary elements: infinity times
   * that zero is NaN.
   */
  ZERO;

  /** Advice for the end of a message that names a hole: not every operator has the option. */
  public static final String HELP =
      "with missing=zero this operator, or a re-block before it if it has no such option, takes"
          + " them for zeros";

  /**
   * Reads {@code error} or {@code zero}, ignoring case.
   *
   * @param what the parameter, for messages
   * @throws IllegalArgumentException if the text is neither
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
