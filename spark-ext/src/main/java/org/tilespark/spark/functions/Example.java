package org.tilespark.spark.functions;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A call that users can paste, and its result. The examples of a function are in an SQL file with
 * the function's name, in the package of this class: a statement ends with a semicolon at the end
 * of a line, and comments after it are its rows. {@code FunctionExamplesTest} runs all of them.
 *
 * @param statement the statement with its semicolon, one or more lines
 * @param rows resulting rows as spark-sql prints them: cells with tabs between them
 */
record Example(String statement, List<String> rows) {
  private static final String ROW = "-- ";

  /**
   * The examples of a function.
   *
   * @throws IllegalStateException if the declaration has no example and there is no file, or if the
   *     last statement has no semicolon
   */
  static List<Example> of(String function, Operator operator) {
    List<Example> examples = new ArrayList<>();
    StringBuilder statement = new StringBuilder();
    String text =
        operator.examples().isEmpty() ? file(function) : operator.examples().formatted(function);
    for (String line : text.lines().toList()) {
      if (line.startsWith(ROW) && statement.isEmpty()) {
        examples.get(examples.size() - 1).rows.add(line.substring(ROW.length()));
      } else if (!line.isBlank()) {
        statement.append(statement.isEmpty() ? "" : "\n").append(line);
      }
      if (line.endsWith(";")) {
        examples.add(new Example(statement.toString(), new ArrayList<>()));
        statement.setLength(0);
      }
    }
    if (examples.isEmpty() || !statement.isEmpty()) {
      throw new IllegalStateException("The examples of " + function + " end without a semicolon");
    }
    return examples;
  }

  private static String file(String function) {
    String name = function + ".sql";
    try (InputStream file = Example.class.getResourceAsStream(name)) {
      if (file == null) {
        throw new IllegalStateException("There is no " + name + " beside " + Example.class);
      }
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(name, e);
    }
  }
}
