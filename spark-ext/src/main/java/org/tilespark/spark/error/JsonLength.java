package org.tilespark.spark.error;

/** Measures the length of a text as JSON. */
final class JsonLength {
  private static final String CUT = "...";

  private JsonLength() {}

  /** The text, cut so that it takes at most {@code most} characters in JSON. */
  static String cut(String text, int most) {
    int length = 0;
    int fits = 0; // count of first characters after which there is still room for "..."
    for (int i = 0; i < text.length(); i++) {
      if (length + CUT.length() <= most) {
        fits = i;
      }
      length += ofCharacter(text.charAt(i));
      if (length > most) {
        return text.substring(0, fits) + CUT;
      }
    }
    return text;
  }

  private static int ofCharacter(char c) {
    if (c == '"' || c == '\\') {
      return 2;
    }
    return c < ' ' ? 6 : 1; // 6 as an escape by number, the longest form
  }
}
