package org.tilespark.spark.options;

import java.util.Locale;
import org.tilespark.spark.error.Require;

/** An assumption about the matrix of linear equations, which decides how it is factorised. */
public enum Assume {
  /** No assumption: LU with partial pivoting. */
  GENERAL,
  /** The matrix is symmetric and positive definite: Cholesky, of the lower triangle alone. */
  POSITIVE_DEFINITE;

  /**
   * Reads {@code general} or {@code positive definite}, ignoring case, with a blank or an
   * underscore; or scipy's abbreviations {@code gen} and {@code pos}.
   *
   * @param what the parameter, for messages
   * @throws IllegalArgumentException if the text is none of them
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
