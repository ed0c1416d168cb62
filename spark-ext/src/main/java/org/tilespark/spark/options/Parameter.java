package org.tilespark.spark.options;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A parameter of operators, or one of their options. From this declaration the check of arguments,
 * usage, DESCRIBE FUNCTION and the tables in the docs are derived.
 *
 * @param fallback default value; empty if the operator determines it
 * @param otherwise meaning of a missing argument, for the docs; empty if it is required
 * @param doc meaning of the parameter, a phrase without a full stop
 */
public record Parameter<T>(
    String name, Type<T> type, Optional<T> fallback, String otherwise, String doc) {
  /** Text for the docs of a default that the column metadata states. */
  public static final String STATED = "as the column metadata states it";

  /** The treatment of missing blocks. */
  public static final Parameter<Missing> MISSING =
      optional(
          "missing",
          Type.MISSING,
          Missing.ERROR,
          "'error' refuses missing blocks, 'zero' takes them for zeros");

  /**
   * Numbers that an expression names. Every named argument that is not a parameter becomes one of
   * them.
   */
  public static final Parameter<Map<String, Number>> SCALARS =
      new Parameter<>(
          "scalars",
          Type.NUMBERS,
          Optional.of(Map.of()),
          "none",
          "numbers that the expression names, each a named argument of its own: `s => 2.5`");

  /** The options of products, in the order of their parameters. */
  public static List<Parameter<?>> ofProducts() {
    return MultiplyOptions.OPTIONS;
  }

  /** The options of transforms, in the order of their parameters. */
  public static List<Parameter<?>> ofTransforms() {
    return FftOptions.OPTIONS;
  }

  /** The options of rows that become blocks, in the order of their parameters. */
  public static List<Parameter<?>> ofRows() {
    return RowOptions.OPTIONS;
  }

  /** A parameter that every call gives an argument for. */
  public static <T> Parameter<T> required(String name, Type<T> type, String doc) {
    return new Parameter<>(name, type, Optional.empty(), "", doc);
  }

  /** An optional parameter whose default the operator determines. */
  public static <T> Parameter<T> found(String name, Type<T> type, String otherwise, String doc) {
    return new Parameter<>(name, type, Optional.empty(), otherwise, doc);
  }

  /** A parameter with a default. */
  public static <T> Parameter<T> optional(String name, Type<T> type, T fallback, String doc) {
    String text = fallback.toString();
    String shown = text.matches("true|false|\\d+") ? text : "'" + text + "'";
    return new Parameter<>(name, type, Optional.of(fallback), shown, doc);
  }

  /** This parameter without a default; {@code instead} is the meaning of a missing argument. */
  public Parameter<T> otherwise(String instead) {
    return new Parameter<>(name, type, Optional.empty(), instead, doc);
  }

  /** This parameter with another default, and another text of it for the docs. */
  public Parameter<T> of(T fallback, String otherDoc) {
    return optional(name, type, fallback, otherDoc);
  }

  /** False if the argument may be left out. */
  public boolean isRequired() {
    return otherwise.isEmpty();
  }

  /**
   * The value of an argument.
   *
   * @param what the parameter, for messages: {@code "matrix_reblock: rows"}
   * @param argument the argument; empty if it is no constant
   * @param shown the argument as the user wrote it
   * @throws IllegalArgumentException if this parameter does not accept it
   */
  public T read(String what, Optional<Object> argument, String shown) {
    return argument
        .flatMap(constant -> type.reader().read(what, constant))
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    what + " is " + shown + "; expected " + type.expected()));
  }
}
