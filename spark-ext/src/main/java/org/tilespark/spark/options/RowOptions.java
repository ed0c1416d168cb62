package org.tilespark.spark.options;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.tilespark.spark.error.Require;

/**
 * Options of a matrix made from rows with one vector each; immutable. Every option has a name and a
 * text, the same in Java, in a map and in SQL.
 */
public final class RowOptions extends TextOptions<RowOptions> {
  static final List<Parameter<?>> OPTIONS =
      List.of(
          Parameter.found(
              "id",
              Type.text((what, text) -> text),
              "rows have their places alone",
              "a column whose values ride along in a column ids, for matrix_row_ids and"
                  + " matrix_to_rows"),
          Parameter.found(
              "orderBy",
              Type.columns(),
              "the table's own order; where that is not fixed, the order of id",
              "columns that order the rows, 'day,hour' or array('day', 'hour'); no two rows may be"
                  + " equal in them"),
          Parameter.found(
              "cols",
              count("2147483647"),
              "as the column metadata states it, else found in the first vector",
              "elements of each vector"),
          Parameter.optional(
              "nulls",
              Type.word(RowPolicy.ERROR, RowPolicy.SKIP, RowPolicy.ZERO),
              RowPolicy.ERROR.toString(),
              "'error' refuses NULL vectors and NULL elements, 'skip' leaves their rows out, 'zero'"
                  + " takes NULLs for zeros"),
          Parameter.optional(
              "ragged",
              Type.word(RowPolicy.ERROR, RowPolicy.SKIP, RowPolicy.ZERO),
              RowPolicy.ERROR.toString(),
              "'error' refuses vectors of other lengths, 'skip' leaves their rows out and asks for"
                  + " cols, 'zero' fills short ones up with zeros"),
          Parameter.optional(
              "nan",
              Type.word(RowPolicy.ERROR, RowPolicy.SKIP, RowPolicy.ZERO, RowPolicy.KEEP),
              RowPolicy.ERROR.toString(),
              "'error' refuses NaN, 'skip' leaves its row out, 'zero' takes it for zero, 'keep'"
                  + " keeps it"),
          Parameter.found(
              "blockRows",
              count("1000000000"),
              "as many as make 8 MiB",
              "rows of a block; there are fewer at the end of a partition, and where ids take 64"
                  + " MiB"));

  /** The names of all options. */
  public static final List<String> NAMES = names(OPTIONS);

  private static final RowOptions DEFAULTS = new RowOptions(Map.of());

  private RowOptions(Map<String, String> texts) {
    super(texts);
  }

  private static Type<String> count(String most) {
    return Type.of(
        "INT",
        "a constant whole number, as 4 or '4'",
        false,
        (what, text) -> {
          String plain = text.trim();
          if (!plain.matches("[1-9]\\d{0,9}") || Long.parseLong(plain) > Long.parseLong(most)) {
            throw Type.bad(what, text, "a whole number from 1 to " + most);
          }
          return plain;
        });
  }

  @Override
  List<Parameter<?>> declared() {
    return OPTIONS;
  }

  @Override
  RowOptions made(Map<String, String> all) {
    return new RowOptions(all);
  }

  /** All defaults. */
  public static RowOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Options from texts.
   *
   * @param texts texts by option name; case is ignored; absent options have their defaults
   * @throws IllegalArgumentException if there is no option of a name, or its text is not valid
   */
  public static RowOptions of(Map<String, String> texts) {
    return from(DEFAULTS, texts, "RowOptions.of");
  }

  /** The column of ids, if there is one. */
  public Optional<String> id() {
    return stated("id");
  }

  /** These options with a column of ids. */
  public RowOptions withId(String column) {
    return set("id", Require.given(column, "RowOptions.withId", "column"));
  }

  /** The columns that order the rows; empty to use the table's own order. */
  public List<String> orderBy() {
    return stated("orderBy").map(text -> List.of(text.split(","))).orElse(List.of());
  }

  /** These options with columns that order the rows. */
  public RowOptions withOrderBy(String... columns) {
    return set(
        "orderBy", String.join(",", Require.given(columns, "RowOptions.withOrderBy", "columns")));
  }

  /** The length of each vector, if it is stated. */
  public Optional<Integer> cols() {
    return stated("cols").map(Integer::valueOf);
  }

  /** These options with a length of each vector. */
  public RowOptions withCols(int cols) {
    return set("cols", Integer.toString(cols));
  }

  /** The policy for rows with NULL vectors and NULL elements. */
  public RowPolicy nulls() {
    return RowPolicy.of(text("nulls"));
  }

  /** These options with another policy for NULL. */
  public RowOptions withNulls(RowPolicy policy) {
    return set("nulls", Require.given(policy, "RowOptions.withNulls", "policy").toString());
  }

  /** The policy for rows whose vectors have another length. */
  public RowPolicy ragged() {
    return RowPolicy.of(text("ragged"));
  }

  /** These options with another policy for vectors of different lengths. */
  public RowOptions withRagged(RowPolicy policy) {
    return set("ragged", Require.given(policy, "RowOptions.withRagged", "policy").toString());
  }

  /** The policy for rows with NaN. */
  public RowPolicy nan() {
    return RowPolicy.of(text("nan"));
  }

  /** These options with another policy for NaN. */
  public RowOptions withNan(RowPolicy policy) {
    return set("nan", Require.given(policy, "RowOptions.withNan", "policy").toString());
  }

  /** The rows of a full block, if they are stated. */
  public Optional<Integer> blockRows() {
    return stated("blockRows").map(Integer::valueOf);
  }

  /** These options with blocks of {@code rows} rows. */
  public RowOptions withBlockRows(int rows) {
    return set("blockRows", Integer.toString(rows));
  }
}
