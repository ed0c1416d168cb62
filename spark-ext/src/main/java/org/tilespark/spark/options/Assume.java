package org.tilespark.spark.options;

import java.util.Locale;
import org.tilespark.spark.error.Require;

/** The kind of the matrix of linear equations, which decides how it is factorised. */
public enum Assume {
  /** Nothing: LU with partial pivoting. */
  GENERAL,
  /** Symmetric and positive definite: Cholesky, of the lower triangle alone. */
  POSITIVE_DEFINITE;

  /**
   * Reads {@code general} or {@code positive definite}, in any case, with a blank or an underscore;
   * or {@code gen} and {@code pos}, as scipy also calls them.
   *
   * @param what source of the text, for the message
   * @throws IllegalArgumentException if it is none of them
   */
  public static Assume parse(String what, String text) {
    Require.given(what, "Assume.parse", "what");
    Require.given(text, "Assume.parse", "text");
    String plain = text.strip().toLowerCase(Locale.ROOT).replace('_', ' ');
    return switch (plain) {
      case "general", "gen" -> GENERAL;
      case "positive definite", "pos" -> POSITIVE_DEFINITE;
      default ->
          throw new IllegalArgumentException(
              what + " is '" + text + "'; expected general or positive definite");
    };
  }

  /** The name as users write it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
