package org.tilespark.spark;

import java.util.Map;
import java.util.StringJoiner;
import java.util.UUID;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;

/**
 * The operators on DataFrames of a Spark Connect session. Its plans are made by the server, so they
 * are calls of the SQL functions there, over temporary views of the DataFrames. A view holds no
 * data; it stays until the session ends, as the result is planned anew at each use.
 */
final class ConnectCalls {
  private static final String CONNECT = "org.apache.spark.sql.connect.";

  private ConnectCalls() {}

  /** True if a DataFrame belongs to a Spark Connect session. */
  static boolean isFor(Dataset<Row> df) {
    return df.getClass().getName().startsWith(CONNECT);
  }

  /**
   * The result of a SQL function.
   *
   * @param tables DataFrames by parameter; all of one session
   * @param arguments texts, numbers and booleans by parameter
   * @throws IllegalArgumentException if the DataFrames belong to different sessions
   */
  static Dataset<Row> call(
      String function, Map<String, Dataset<Row>> tables, Map<String, ?> arguments) {
    Dataset<Row> first = tables.values().iterator().next();
    StringJoiner list = new StringJoiner(", ");
    tables.forEach(
        (parameter, df) -> {
          if (df.sparkSession() != first.sparkSession()) {
            throw new InvalidInputException(
                ErrorCondition.INVALID_ARGUMENT,
                "The two DataFrames belong to different Spark sessions; expected one");
          }
          String view = "tilespark_" + UUID.randomUUID().toString().replace('-', '_');
          df.createOrReplaceTempView(view);
          list.add(parameter + " => TABLE(" + view + ")");
        });
    arguments.forEach((parameter, value) -> list.add(parameter + " => " + literal(value)));
    return first.sparkSession().sql("SELECT * FROM " + function + "(" + list + ")");
  }

  /** Numbers with a fraction as texts, since NaN and infinity have no literal. */
  private static String literal(Object value) {
    return value instanceof Integer || value instanceof Long
        ? value.toString()
        : "'" + value.toString().replace("\\", "\\\\").replace("'", "\\'") + "'";
  }
}
