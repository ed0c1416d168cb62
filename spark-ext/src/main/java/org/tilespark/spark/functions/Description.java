package org.tilespark.spark.functions;

import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.tilespark.spark.options.Parameter;

/**
 * Texts for users of the table functions: {@code DESCRIBE FUNCTION EXTENDED} and docs/sql.md, made
 * from the declarations, which {@link TableFunctions} lists, and from the {@link Example}s.
 *
 * <p>The section of examples has a fixed form, so that programs can run them: a line that begins
 * with six spaces and {@code "> "} begins a statement, which goes on to the line that ends with a
 * semicolon; lines after it, of seven spaces and text, are its rows.
 */
public final class Description {
  private static final String SINCE = "0.1.0";

  private Description() {}

  /** Spark's object that describes a function. */
  static ExpressionInfo info(TableFunctions function) {
    return new ExpressionInfo(
        TableFunctions.class.getName(),
        null,
        function.sqlName(),
        function.usage() + " - " + function.operator().doc(),
        arguments(function),
        examples(function),
        "\n      " + note(function) + "\n  ",
        "table_funcs",
        SINCE,
        "",
        "scala_udf");
  }

  private static String arguments(TableFunctions function) {
    return function.parameters().stream()
        .map(
            parameter ->
                "      * %s - %s%s. %s\n"
                    .formatted(
                        parameter.name(),
                        parameter.type().sql(),
                        parameter.isRequired() ? "" : ", by default " + parameter.otherwise(),
                        sentence(parameter)))
        .collect(Collectors.joining("", "\n    Arguments:\n", "  "));
  }

  private static String sentence(Parameter parameter) {
    return parameter.doc().substring(0, 1).toUpperCase(Locale.ROOT)
        + parameter.doc().substring(1)
        + ".";
  }

  private static String examples(TableFunctions function) {
    StringBuilder text = new StringBuilder("\n    Examples:\n");
    for (Example example : function.examples()) {
      text.append("      > ").append(example.statement().replace("\n", "\n        ")).append('\n');
      example.rows().forEach(row -> text.append("       ").append(row).append('\n'));
    }
    return text.append("  ").toString();
  }

  private static String note(TableFunctions function) {
    String java = function.java().isEmpty() ? "" : "In Java and Scala " + function.java() + ". ";
    return java + "Data moved between tasks: " + function.operator().moves() + ".";
  }

  // ---- Markdown

  /** All functions, with arguments and examples: docs/sql.md, which dev/generate-docs writes. */
  public static String page() {
    StringBuilder page =
        new StringBuilder(
            """
            # SQL functions

            Generated from `TableFunctions` by `dev/generate-docs`. `SHOW USER FUNCTIONS LIKE 'matrix_*|volume_*'` lists the
            functions, `DESCRIBE FUNCTION EXTENDED matrix_multiply` shows what this page says of one.

            Arguments are given by position or by name (`blockShape => '1024,1024'`). A table is `TABLE(name)` or
            `TABLE(SELECT ...)`; all other arguments are constants. Numbers and booleans may be given as texts. The rows below
            a statement are what spark-sql prints; a zero may have either sign.

            """);
    page.append(table());
    for (TableFunctions function : TableFunctions.values()) {
      page.append("\n## ")
          .append(function.sqlName())
          .append("\n\n`")
          .append(function.usage())
          .append("`\n\n")
          .append(wrapped(function.operator().doc() + " " + note(function)))
          .append("\n\n| argument | type | default | meaning |\n|---|---|---|---|\n");
      for (Parameter<?> parameter : function.parameters()) {
        page.append(
            row(
                code(parameter.name()),
                parameter.type().sql(),
                parameter.otherwise(),
                parameter.doc()));
      }
      for (Example example : function.examples()) {
        page.append("\n```sql\n").append(example.statement()).append('\n');
        example.rows().forEach(row -> page.append("-- ").append(row).append('\n'));
        page.append("```\n");
      }
    }
    return page.toString();
  }

  /** A table in Markdown with a line for each function, which links to its section. */
  private static String table() {
    return "| in SQL | in Java and Scala | gives | data moved between tasks |\n|---|---|---|---|\n"
        + Stream.of(TableFunctions.values())
            .map(
                function ->
                    row(
                        "[%s](#%s)".formatted(code(function.sqlName()), function.sqlName()),
                        code(function.java()),
                        function.operator().doc().split("(?<=\\.) ", 2)[0],
                        function.operator().moves()))
            .collect(Collectors.joining());
  }

  private static String code(String text) {
    return text.isEmpty() ? "" : "`" + text + "`";
  }

  private static String row(String... cells) {
    return Stream.of(cells)
        .map(cell -> cell.startsWith("`") ? cell : cell.replace("<", "\\<"))
        .map(cell -> cell.replace("|", "\\|"))
        .collect(Collectors.joining(" | ", "| ", " |\n"));
  }

  /** The text in lines of at most 120 characters. */
  private static String wrapped(String text) {
    StringBuilder lines = new StringBuilder();
    int column = 0;
    for (String word : text.split(" ")) {
      boolean fits = column + 1 + word.length() <= 120;
      lines.append(column == 0 ? "" : fits ? " " : "\n").append(word);
      column = word.length() + (column > 0 && fits ? column + 1 : 0);
    }
    return lines.toString();
  }

  /** Prints {@link #page}. */
  public static void main(String[] args) {
    System.out.print(page());
  }
}
