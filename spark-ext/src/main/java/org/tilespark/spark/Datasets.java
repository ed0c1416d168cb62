package org.tilespark.spark;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.NoExtensionException;
import org.tilespark.spark.functions.Caller;
import org.tilespark.spark.functions.TableFunctions;

/** From DataFrames of a classic session to plans and back. */
final class Datasets {
  private Datasets() {}

  /** As {@link OperatorCall#of} says, for DataFrames of a classic session. */
  static Dataset<Row> call(
      String function,
      String operator,
      Map<String, Dataset<Row>> tables,
      Map<String, ?> arguments) {
    return ErrorBoundary.CALLS.call(
        () -> {
          Map<String, LogicalPlan> plans = new HashMap<>();
          tables.forEach((parameter, df) -> plans.put(parameter, classic(df).logicalPlan()));
          Map<String, String> texts = new HashMap<>();
          arguments.forEach((parameter, value) -> texts.put(parameter, value.toString()));
          List<SparkSession> sessions =
              tables.values().stream().map(df -> classic(df).sparkSession()).distinct().toList();
          if (sessions.size() > 1) {
            throw new IllegalArgumentException(
                "The two DataFrames belong to different Spark sessions; expected one");
          }
          return of(
              sessions.get(0),
              TableFunctions.valueOf(function.toUpperCase(Locale.ROOT))
                  .plan(new Caller(operator, sessions.get(0)), plans, texts));
        });
  }

  private static Dataset<Row> of(SparkSession session, LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(session, plan);
  }

  private static org.apache.spark.sql.classic.Dataset<Row> classic(Dataset<Row> df) {
    if (!(df instanceof org.apache.spark.sql.classic.Dataset<Row> classic)) {
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
