package org.tilespark.spark;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * One call of an operator from the facade: that of the SQL function of the same meaning. Where the
 * DataFrames belong to Spark Connect, their server calls it.
 *
 * <p>A client of Spark Connect has no classes for plans, so that this class names none.
 */
final class OperatorCall {
  private OperatorCall() {}

  /**
   * The DataFrame that the operator makes.
   *
   * @param function the SQL function
   * @param operator who asks, for messages
   * @param tables DataFrames by parameter; all of one session
   * @param arguments by parameter, what is absent is the default
   * @throws IllegalStateException if the session cannot plan our nodes
   * @throws IllegalArgumentException if the DataFrames belong to different sessions, or the
   *     function refuses them
   */
  static Dataset<Row> of(
      String function,
      String operator,
      Map<String, Dataset<Row>> tables,
      Map<String, ?> arguments) {
    return tables.values().stream().allMatch(ConnectCalls::isFor)
        ? ConnectCalls.call(function, tables, arguments)
        : Datasets.call(function, operator, tables, arguments);
  }
}
