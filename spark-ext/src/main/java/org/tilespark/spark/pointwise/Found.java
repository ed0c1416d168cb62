package org.tilespark.spark.pointwise;

/**
 * A part of an expression's text, for messages.
 *
 * @param text the part
 * @param character place of its first character in the whole text, from 1
 */
record Found(String text, int character) {
  /** An error about this part: {@code 'foo(v)' at character 5: ...}. */
  IllegalArgumentException wrong(String what) {
    return new IllegalArgumentException(
        "'%s' at character %s: %s".formatted(text, character, what));
  }
}
