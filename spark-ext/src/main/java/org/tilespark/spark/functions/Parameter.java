package org.tilespark.spark.functions;

import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.options.Missing;

/**
 * A parameter of operators. Its declaration is the only one: the check of arguments, usage,
 * DESCRIBE FUNCTION and the tables in the docs are made of it.
 *
 * @param fallback what holds without an argument; empty if the plan finds it
 * @param otherwise what holds without an argument, for the docs; empty if it is required
 * @param doc what it means, a phrase without a full stop
 */
record Parameter<T>(String name, Type<T> type, Optional<T> fallback, String otherwise, String doc) {
  static final String STATED = "as the column metadata states it";

  static final Parameter<Missing> MISSING = missing("");

  /** A parameter that every call gives an argument for. */
  static <T> Parameter<T> required(String name, Type<T> type, String doc) {
    return new Parameter<>(name, type, Optional.empty(), "", doc);
  }

  /**
   * A parameter that may be left out.
   *
   * @param otherwise what holds then
   */
  static <T> Parameter<T> optional(String name, Type<T> type, String otherwise, String doc) {
    return new Parameter<>(name, type, Optional.empty(), otherwise, doc);
  }

  /** What missing blocks are. */
  static Parameter<Missing> missing(String more) {
    return new Parameter<>(
        "missing",
        Type.MISSING,
        Optional.of(Missing.ERROR),
        "'" + Missing.ERROR + "'",
        "'error' refuses missing blocks, 'zero' takes them for zeros" + more);
  }

  /** A table of blocks of a kind. */
  static Parameter<LogicalPlan> blocks(String name, BlockKind kind) {
    return required(name, Type.TABLE, "blocks of a " + kind.label() + ": " + kind.columnsText());
  }

  /** Extents of the array of a call's only table. */
  static Parameter<StatedExtents> extents(BlockKind kind) {
    return extents("extents", kind, "the whole array");
  }

  /** Extents of an array. */
  static Parameter<StatedExtents> extents(String name, BlockKind kind, String of) {
    return optional(
        name,
        Type.extents(kind),
        STATED,
        "extents of "
            + of
            + ", '1000,800' or array(1000, 800); 'unknown' forgets those that the metadata states");
  }

  /** The same with something else that holds where it is left out. */
  Parameter<T> otherwise(String instead) {
    return new Parameter<>(name, type, fallback, instead, doc);
  }

  boolean isRequired() {
    return otherwise.isEmpty();
  }

  boolean isTable() {
    return type == (Type<?>) Type.TABLE;
  }

  /** As in a usage: {@code TABLE(a)}, {@code alpha}. */
  String inUsage() {
    return isTable() ? "TABLE(" + name + ")" : name;
  }

  /** Whether a name, in any case, is this one's. */
  boolean isNamed(String other) {
    return name.toLowerCase(Locale.ROOT).equals(other.toLowerCase(Locale.ROOT));
  }

  /**
   * The value of an argument.
   *
   * @param operator whose it is, for messages
   * @param argument empty if it is no constant
   * @param shown the argument as the user wrote it
   * @throws IllegalArgumentException if it is not what this parameter takes
   */
  T read(String operator, Optional<Object> argument, String shown) {
    String what = operator + ": " + name;
    return argument
        .flatMap(constant -> type.reader().read(what, constant))
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    what + " is " + shown + "; expected " + type.expected()));
  }
}
