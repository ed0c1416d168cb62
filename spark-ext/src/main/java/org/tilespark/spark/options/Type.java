package org.tilespark.spark.options;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The type of a parameter. An argument is a table, or a constant that SQL evaluated or that Java
 * passed.
 *
 * @param <T> type of the values from which plans are made
 * @param sql the SQL types in words
 * @param expected requirement on an argument, in words, for messages
 * @param takesArrays true if a list of constants is accepted too
 */
public record Type<T>(String sql, String expected, boolean takesArrays, Reader<T> reader) {
  /** Converts arguments to values. */
  public interface Reader<T> {
    /**
     * The value of an argument; empty if it has another type.
     *
     * @param what the parameter, for messages: {@code "matrix_reblock: rows"}
     * @throws IllegalArgumentException if it has this type but is not valid
     */
    Optional<T> read(String what, Object argument);
  }

  /** Converts texts to values. */
  public interface Parser<T> {
    /**
     * The value of a text.
     *
     * @param what the parameter, for messages: {@code "matrix_reblock: rows"}
     * @throws IllegalArgumentException if the text is not valid
     */
    T parse(String what, String text);
  }

  /** A whole number, or its text. */
  public static final Type<Long> WHOLE =
      number(
          "BIGINT",
          "a constant whole number, as 4 or '4'",
          argument ->
              argument instanceof Integer || argument instanceof Long
                  ? ((Number) argument).longValue()
                  : Long.valueOf(argument.toString().trim()));

  /** A number, or its text. */
  public static final Type<Double> NUMBER =
      number(
          "DOUBLE",
          "a constant number, as 0.5 or '0.5'",
          argument ->
              argument instanceof Double number ? number : Double.valueOf(argument.toString()));

  /** Numbers with names that the user chooses: in SQL, further named arguments. */
  static final Type<Map<String, Number>> NUMBERS =
      new Type<>(
          "numbers by name",
          "numbers under names, as s => 2.5",
          false,
          (what, argument) -> {
            if (!(argument instanceof Map<?, ?> given)) {
              return Optional.empty();
            }
            Map<String, Number> numbers = new LinkedHashMap<>();
            given.forEach(
                (name, number) -> numbers.put(name.toString(), named(name, number, what)));
            return Optional.of(numbers);
          });

  /** An integer, or a floating-point number: {@code 2} and {@code 2.0} are different. */
  private static Number named(Object name, Object number, String what) {
    String text = String.valueOf(number).trim();
    try {
      return text.matches("[+-]?\\d+") ? (Number) Long.valueOf(text) : Double.valueOf(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          ("%s: %s is %s; expected a number of at most 64 bits that the expression names (there is"
                  + " no parameter %s)")
              .formatted(what, name, number, name),
          e);
    }
  }

  /** A boolean, or its text. */
  public static final Type<String> FLAG =
      new Type<>(
          "BOOLEAN",
          "true or false",
          false,
          (what, argument) ->
              Optional.of(plain(argument.toString())).filter(List.of("true", "false")::contains));

  /** The treatment of missing blocks. */
  static final Type<Missing> MISSING =
      new Type<>(
          "STRING",
          "a constant text",
          false,
          (what, argument) ->
              Optional.of(
                  argument instanceof Missing missing
                      ? missing
                      : Missing.parse(what, argument.toString())));

  /** The score of two vectors. */
  public static final Type<Metric> METRIC =
      new Type<>(
          "STRING",
          "a constant text",
          false,
          (what, argument) ->
              Optional.of(
                  argument instanceof Metric metric
                      ? metric
                      : Metric.parse(what, argument.toString())));

  /** The type of a text that {@code parser} converts. */
  public static <T> Type<T> text(Parser<T> parser) {
    return of("STRING", "a constant text", false, parser);
  }

  /** The type of a parameter that accepts one of some words, in any case. */
  public static Type<String> word(Object... words) {
    return text(words(words));
  }

  static Parser<String> words(Object... words) {
    List<String> all = Arrays.stream(words).map(word -> plain(word.toString())).toList();
    return (what, text) -> {
      if (!all.contains(plain(text))) {
        throw bad(what, text, String.join(", ", all));
      }
      return plain(text);
    };
  }

  /**
   * A list of numbers or words, as text with commas or as an array; a single one is a list of one.
   */
  public static <T> Type<T> list(Parser<T> parser) {
    return of("STRING or ARRAY", "a constant list, as '4,6' or array(4, 6)", true, parser);
  }

  /** The type of a list with one word for each axis; a single word applies to all axes. */
  static Type<String> perAxis(Parser<String> word) {
    return list(
        (what, text) ->
            Arrays.stream(plain(text).split(",", -1))
                .map(each -> word.parse(what, each))
                .collect(Collectors.joining(",")));
  }

  /** Names of columns, as text with commas or as an array; the normal form is text with commas. */
  public static Type<String> columns() {
    return of(
        "STRING or ARRAY",
        "constant names of columns, as 'a,b' or array('a', 'b')",
        true,
        (what, text) -> {
          List<String> names = Arrays.stream(text.split(",", -1)).map(String::trim).toList();
          if (names.stream().anyMatch(String::isEmpty)) {
            throw bad(what, text, "names of columns with commas between them");
          }
          return String.join(",", names);
        });
  }

  /** Axes by letters or by numbers. */
  public static <T> Type<T> axes(Parser<T> parser) {
    String expected = "constant axes, as 'yzx', '1,2,0' or array(1, 2, 0)";
    return of("STRING, INT or ARRAY", expected, true, parser);
  }

  /** A type whose constants are read as texts; a list is read as text with commas. */
  public static <T> Type<T> of(String sql, String expected, boolean takesArrays, Parser<T> parser) {
    return new Type<>(
        sql,
        expected,
        takesArrays,
        (what, argument) -> {
          List<?> all = argument instanceof List<?> list ? list : List.of(argument);
          String text = all.stream().map(Object::toString).collect(Collectors.joining(","));
          return Optional.of(parser.parse(what, text));
        });
  }

  private static <N> Type<N> number(String sql, String expected, Function<Object, N> parser) {
    return new Type<>(
        sql,
        expected,
        false,
        (what, argument) -> {
          try {
            return Optional.of(parser.apply(argument));
          } catch (NumberFormatException e) {
            return Optional.empty();
          }
        });
  }

  /** The text in lower case, without blanks. */
  static String plain(String text) {
    return text.replaceAll("\\s", "").toLowerCase(Locale.ROOT);
  }

  static IllegalArgumentException bad(String what, String text, String expected) {
    return new IllegalArgumentException(what + " is '" + text + "'; expected " + expected);
  }
}
