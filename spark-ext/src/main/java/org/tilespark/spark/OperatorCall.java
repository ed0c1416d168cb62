package org.tilespark.spark;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.functions.TableFunctions;

/**
 * One call of an operator from the facade. Where the DataFrames belong to Spark Connect, their
 * server calls its SQL function.
 *
 * <p>A client of Spark Connect has no classes for plans, so that this class names none.
 */
final class OperatorCall {
  private OperatorCall() {}

  /**
   * The DataFrame that the operator makes.
   *
   * @param arguments in the order of the operator's parameters, DataFrames of one session first;
   *     what is absent is the default
   * @throws IllegalStateException if the session cannot plan our nodes
   * @throws IllegalArgumentException if an argument is null, the DataFrames belong to different
   *     sessions, or the operator refuses them
   */
  static Dataset<Row> of(TableFunctions operator, Object... arguments) {
    Map<String, Object> named = operator.named(arguments);
    boolean isConnect =
        named.values().stream()
            .allMatch(each -> !(each instanceof Dataset<?> df) || ConnectCalls.isFor(df));
    return isConnect ? ConnectCalls.call(operator, named) : Datasets.call(operator, named);
  }
}
