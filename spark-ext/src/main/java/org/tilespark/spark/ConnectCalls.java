package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;
import org.tilespark.spark.functions.TableFunctions;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.TextOptions;

/**
 * The operators on DataFrames of a Spark Connect session. Its plans are made by the server, so they
 * are calls of the SQL functions there, over temporary views of the DataFrames. A view holds no
 * data; it stays until the session ends, as the result is planned anew at each use.
 */
final class ConnectCalls {
  private static final String CONNECT = "org.apache.spark.sql.connect.";

  private ConnectCalls() {}

  /** True if a DataFrame belongs to a Spark Connect session. */
  static boolean isFor(Dataset<?> df) {
    return df.getClass().getName().startsWith(CONNECT);
  }

  /**
   * The result of an operator's SQL function.
   *
   * @param arguments by parameter; all DataFrames of one session
   * @throws IllegalArgumentException if the DataFrames belong to different sessions
   */
  static Dataset<Row> call(TableFunctions operator, Map<String, Object> arguments) {
    SparkSession session = ((Dataset<?>) arguments.values().iterator().next()).sparkSession();
    StringJoiner list = new StringJoiner(", ", operator.sqlName() + "(", ")");
    arguments.forEach(
        (parameter, value) -> {
          if (value instanceof TextOptions<?> options) {
            changed(options).forEach((name, text) -> list.add(name + " => " + literal(text)));
          } else {
            list.add(
                parameter
                    + " => "
                    + (value instanceof Dataset<?> df ? table(df, session) : literal(value)));
          }
        });
    return session.sql("SELECT * FROM " + list);
  }

  private static String table(Dataset<?> df, SparkSession session) {
    if (df.sparkSession() != session) {
      throw new InvalidInputException(
          ErrorCondition.INVALID_ARGUMENT,
          "The two DataFrames belong to different Spark sessions; expected one");
    }
    String view = "tilespark_" + UUID.randomUUID().toString().replace('-', '_');
    df.createOrReplaceTempView(view);
    return "TABLE(" + view + ")";
  }

  /** The options that are no defaults: a gram has no parameters for transposes. */
  private static Map<String, String> changed(TextOptions<?> options) {
    Map<String, String> texts = options.toMap();
    texts.entrySet().removeAll(MultiplyOptions.defaults().toMap().entrySet());
    return texts;
  }

  /** Numbers with a fraction as texts, since NaN and infinity have no literal. */
  private static String literal(Object value) {
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
