package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.block.ColumnNames;
import org.tilespark.spark.functions.TableFunctions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.TextOptions;

/**
 * Runs operators on DataFrames of a Spark Connect session. The server makes the plans, so this
 * calls the SQL functions there, over temporary views of the DataFrames. A view holds no data; it
 * stays until the session ends, since the server plans the result again at each use.
 */
final class ConnectCalls {
  private ConnectCalls() {}

  /**
   * The result of an operator's SQL function.
   *
   * @param arguments arguments of the operator by parameter, DataFrames first
   */
  static Dataset<Row> call(
      TableFunctions operator, SparkSession session, Map<String, Object> arguments) {
    StringJoiner list = new StringJoiner(", ", operator.sqlName() + "(", ")");
    arguments.forEach(
        (parameter, value) -> {
          if (value instanceof TextOptions<?> options) {
            changed(options).forEach((name, text) -> list.add(name + " => " + literal(text)));
          } else if (value instanceof Map<?, ?> numbers) {
            numbers.forEach(
                (name, number) ->
                    list.add(ColumnNames.quoted(name.toString()) + " => " + literal(number)));
          } else {
            list.add(parameter + " => " + literal(value));
          }
        });
    return session.sql("SELECT * FROM " + list);
  }

  /**
   * The options that differ from their defaults, and no others: a gram, for example, has no
   * parameters for transposes.
   */
  private static Map<String, String> changed(TextOptions<?> options) {
    Map<String, String> texts = options.toMap();
    texts.entrySet().removeAll(MultiplyOptions.defaults().toMap().entrySet());
    return texts;
  }

  /**
   * A value as SQL text. Floating-point numbers become quoted text, since NaN and infinity have no
   * literal.
   */
  private static String literal(Object value) {
    if (value instanceof Dataset<?> df) {
      String view = "tilespark_" + UUID.randomUUID().toString().replace('-', '_');
      df.createOrReplaceTempView(view);
      return "TABLE(" + view + ")";
    }
    if (value instanceof List<?> list) {
      return list.stream()
          .map(ConnectCalls::literal)
          .collect(Collectors.joining(", ", "array(", ")"));
    }
    return value instanceof Integer || value instanceof Long
        ? value.toString()
        : "'" + value.toString().replace("\\", "\\\\").replace("'", "\\'") + "'";
  }
}
