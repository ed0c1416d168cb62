package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;
import org.tilespark.spark.functions.TableFunctions;

/**
 * One call of an operator from the facade. For DataFrames of Spark Connect, the server calls the
 * operator's SQL function.
 *
 * <p>A client of Spark Connect has no classes for plans, so this class refers to none.
 */
final class OperatorCall {
  private static final String CONNECT = "org.apache.spark.sql.connect.";

  private OperatorCall() {}

  /**
   * The operator's resulting DataFrame.
   *
   * @param arguments arguments in the order of the operator's parameters, options in one object;
   *     absent arguments have their defaults
   * @throws IllegalStateException if the session cannot plan our nodes
   * @throws IllegalArgumentException if an argument is null, the DataFrames belong to different
   *     sessions, or the operator refuses them
   */
  static Dataset<Row> of(TableFunctions operator, Object... arguments) {
    Map<String, Object> named = operator.named(arguments);
    List<SparkSession> sessions =
        named.values().stream()
            .filter(Dataset.class::isInstance)
            .map(each -> ((Dataset<?>) each).sparkSession())
            .distinct()
            .toList();
    if (sessions.size() > 1) {
      throw new InvalidInputException(
          ErrorCondition.INVALID_ARGUMENT,
          "The two DataFrames belong to different Spark sessions; expected one");
    }
    SparkSession session = sessions.get(0);
    return session.getClass().getName().startsWith(CONNECT)
        ? ConnectCalls.call(operator, session, named)
        : ClassicCalls.call(operator, session, named);
  }
}
