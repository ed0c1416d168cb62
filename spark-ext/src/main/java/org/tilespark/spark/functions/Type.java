package org.tilespark.spark.functions;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.tilespark.layout.Permutation;
import org.tilespark.layout.Shape;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.block.StatedExtents;
import org.tilespark.spark.numpy.NpyType;
import org.tilespark.spark.options.Missing;

/**
 * What a parameter takes. An argument is a table, or a constant: what SQL evaluates, or what a user
 * gave in Java.
 *
 * @param <T> the values that plans are made of
 * @param sql the SQL types in words
 * @param expected what an argument has to be, for messages
 * @param takesArrays true if a list of constants is one too
 */
record Type<T>(String sql, String expected, boolean takesArrays, Reader<T> reader) {
  /** Makes values of arguments. */
  interface Reader<T> {
    /**
     * The value of an argument; empty if it is of another type.
     *
     * @param what whose argument it is, for messages: {@code "matrix_reblock: rows"}
     * @throws IllegalArgumentException if it is of this type and says nothing
     */
    Optional<T> read(String what, Object argument);
  }

  private static final String A_TEXT = "a constant text";
  private static final String A_LIST = "a constant list, as '4,6' or array(4, 6)";
  private static final String SOME_AXES = "constant axes, as 'yzx', '1,2,0' or array(1, 2, 0)";

  /** Rows, as {@code TABLE(name)} or {@code TABLE(SELECT ...)}. */
  static final Type<LogicalPlan> TABLE =
      new Type<>(
          "TABLE",
          "a table, as TABLE(name) or TABLE(SELECT ...)",
          false,
          (what, plan) -> Optional.of((LogicalPlan) plan));

  /** A whole number, or its text. */
  static final Type<Long> WHOLE =
      number(
          "BIGINT",
          "a constant whole number, as 4 or '4'",
          argument ->
              argument instanceof Integer || argument instanceof Long
                  ? ((Number) argument).longValue()
                  : Long.valueOf(argument.toString().trim()));

  /** A number, or its text. */
  static final Type<Double> NUMBER =
      number(
          "DOUBLE",
          "a constant number, as 0.5 or '0.5'",
          argument ->
              argument instanceof Double number ? number : Double.valueOf(argument.toString()));

  /** What an element in no block is. */
  static final Type<Missing> MISSING =
      new Type<>(
          "STRING",
          A_TEXT,
          false,
          (what, argument) ->
              Optional.of(
                  argument instanceof Missing missing
                      ? missing
                      : Missing.parse(what, text(argument))));

  /** numpy's name of a type. */
  static final Type<NpyType> DTYPE = read("STRING", A_TEXT, false, NpyType::parseLittleEndian);

  /** One axis of a volume by its letter or number. */
  static final Type<Integer> AXIS =
      read("STRING or INT", "a constant axis, as 'y' or 1", false, BlockKind.VOLUME::axis);

  /** All axes of a volume, in another order, by letters or by numbers. */
  static final Type<Permutation> ORDER =
      read("STRING, INT or ARRAY", SOME_AXES, true, BlockKind.VOLUME::permutation);

  // ---- texts of options, which the classes of options read

  /** A boolean, or its text. */
  static final Type<String> FLAG =
      new Type<>(
          "BOOLEAN",
          "true or false",
          false,
          (what, argument) ->
              Optional.of(text(argument)).filter(text -> text.trim().matches("(?i)true|false")));

  /** A word. */
  static final Type<String> TEXT = read("STRING", A_TEXT, false, (what, text) -> text);

  /** Numbers or words, in a text with commas or in an array; a single one stands for itself. */
  static final Type<String> LIST = read("STRING or ARRAY", A_LIST, true, (what, text) -> text);

  /** Some axes, by letters or by numbers. */
  static final Type<String> AXES =
      read("STRING, INT or ARRAY", SOME_AXES, true, (what, text) -> text);

  /** Extents of a whole array of a kind. */
  static Type<StatedExtents> extents(BlockKind kind) {
    return read(
        LIST.sql, A_LIST, true, (what, text) -> StatedExtents.parse(what, text, kind.rank()));
  }

  /** Extents of a block of a kind. */
  static Type<Shape> shape(BlockKind kind) {
    return read(LIST.sql, A_LIST, true, (what, text) -> Shape.parse(what, text, kind.rank()));
  }

  /** Values of texts. */
  private interface Parser<T> {
    T parse(String what, String text);
  }

  private static <T> Type<T> read(
      String sql, String expected, boolean takesArrays, Parser<T> parser) {
    return new Type<>(
        sql,
        expected,
        takesArrays,
        (what, argument) -> Optional.of(parser.parse(what, text(argument))));
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

  /** The text of a constant: with commas between the elements of a list. */
  private static String text(Object constant) {
    return constant instanceof List<?> list
        ? list.stream().map(Object::toString).collect(Collectors.joining(","))
        : constant.toString();
  }
}
