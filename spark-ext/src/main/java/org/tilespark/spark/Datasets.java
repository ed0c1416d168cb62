package org.tilespark.spark;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.NoExtensionException;
import org.tilespark.spark.functions.TableFunctions;

/** From DataFrames of a classic session to plans and back. */
final class Datasets {
  private Datasets() {}

  /**
   * The result of an operator on DataFrames of a classic session.
   *
   * @param arguments by parameter
   * @throws IllegalArgumentException as {@link OperatorCall#of}
   */
  static Dataset<Row> call(TableFunctions operator, Map<String, Object> arguments) {
    return ErrorBoundary.CALLS.call(
        () -> {
          Set<SparkSession> sessions = new HashSet<>();
          Map<String, Object> values = new HashMap<>(arguments);
          values.replaceAll(
              (parameter, value) -> {
                if (!(value instanceof Dataset<?> df)) {
                  return value;
                }
                sessions.add(classic(df).sparkSession());
                return classic(df).logicalPlan();
              });
          if (sessions.size() > 1) {
            throw new IllegalArgumentException(
                "The two DataFrames belong to different Spark sessions; expected one");
          }
          SparkSession session = sessions.iterator().next();
          return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
              session, operator.plan(session, values));
        });
  }

  private static org.apache.spark.sql.classic.Dataset<?> classic(Dataset<?> df) {
    if (!(df instanceof org.apache.spark.sql.classic.Dataset<?> classic)) {
      throw new IllegalArgumentException(
          ("Expected a DataFrame of a classic session, found %s; over Spark Connect"
                  + " use the SQL functions, as SELECT * FROM matrix_transpose(TABLE(m))")
              .formatted(df.getClass().getName()));
    }
    requireExtension(classic.sparkSession());
    return classic;
  }

  private static void requireExtension(SparkSession session) {
    boolean present =
        ScalaInterop.list(session.sessionState().planner().strategies()).stream()
            .anyMatch(PlanBlocks.class::isInstance);
    if (!present) {
      throw new NoExtensionException(
          ("This Spark session does not have tilespark's extension. Start it with"
                  + " spark.sql.extensions=%s and the tilespark jar on the driver's class path"
                  + " (--jars or --packages); if both are set, the driver's log says why the"
                  + " class could not be loaded")
              .formatted(TileSparkExtensions.class.getName()));
    }
  }
}
