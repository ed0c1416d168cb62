package org.tilespark.spark.error;

import java.util.List;

/** Checks of public methods' arguments, before all else. */
public final class Require {
  private Require() {}

  /**
   * The value, if it is not null.
   *
   * @param method name of the method, for the message: {@code "MatrixBlocks.transpose"}
   * @throws IllegalArgumentException that names method and argument, if the value is null
   */
  public static <T> T given(T value, String method, String argument) {
    if (value == null) {
      throw new InvalidInputException(
          ErrorCondition.INVALID_ARGUMENT,
          method + ": argument " + argument + " is null; expected a value");
    }
    return value;
  }

  /**
   * The one of the known options that has a name, ignoring case.
   *
   * @throws IllegalArgumentException that lists the known options, if none has the name
   */
  public static String option(String name, List<String> known) {
    for (String option : known) {
      if (option.equalsIgnoreCase(name)) {
        return option;
      }
    }
    throw new IllegalArgumentException(
        "There is no option "
            + name
            + "; expected "
            + String.join(", ", known)
            + (name == null ? "" : Suggestions.didYouMean(name, known)));
  }

  /**
   * The text of an option, if it is not null.
   *
   * @throws IllegalArgumentException if the text is null
   */
  public static String text(String text, String option) {
    if (text == null) {
      throw new IllegalArgumentException(option + " is null; leave it out for the default");
    }
    return text;
  }
}
