package org.tilespark.spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.ErrorCondition;
import org.tilespark.spark.error.InvalidInputException;
import org.tilespark.spark.error.NoExtensionException;
import org.tilespark.spark.functions.TableFunctions;

/** Runs operators on DataFrames of a classic session, whose plans are made in this process. */
final class ClassicCalls {
  /** Most nodes of a call's inputs; with more, planning takes minutes and then all memory. */
  private static final int MOST_NODES = 20_000;

  private ClassicCalls() {}

  /**
   * The DataFrame over an operator's plan.
   *
   * @param arguments arguments of the operator, by parameter
   */
  static Dataset<Row> call(
      TableFunctions operator,
      org.apache.spark.sql.SparkSession own,
      Map<String, Object> arguments) {
    return ErrorBoundary.CALLS.call(
        () -> {
          SparkSession session = (SparkSession) own;
          requireExtension(session);
          Map<String, Object> values = new HashMap<>(arguments);
          values.replaceAll(
              (parameter, value) ->
                  value instanceof org.apache.spark.sql.classic.Dataset<?> df
                      ? df.logicalPlan()
                      : value);
          return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
              session, operator.plan(session, values));
        });
  }

  /**
   * The DataFrame of a function's result, with the checks and messages of the function in SQL.
   *
   * @param tables DataFrames of one session, for the function's first parameters
   * @param constants other arguments, by parameter
   */
  static Dataset<Row> call(
      TableFunctions function, List<Dataset<Row>> tables, Map<String, Object> constants) {
    return ErrorBoundary.PLANNING.call(
        () -> {
          SparkSession session = (SparkSession) tables.get(0).sparkSession();
          session.sparkContext().assertNotStopped();
          requireExtension(session);
          List<LogicalPlan> plans = new ArrayList<>();
          int nodes = 0;
          for (Dataset<Row> table : tables) {
            LogicalPlan plan = ((org.apache.spark.sql.classic.Dataset<Row>) table).logicalPlan();
            nodes = nodes(plan, nodes);
            for (LogicalPlan before : List.copyOf(plans)) {
              plan = Attributes.distinctFrom(before, plan);
            }
            plans.add(plan);
          }
          return session.withActive(
              ScalaInterop.supplier(
                  () ->
                      org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
                          session, function.plan(session, plans, constants))));
        });
  }

  /**
   * Adds the number of a plan's nodes to {@code before}.
   *
   * @throws IllegalArgumentException if there are more than {@link #MOST_NODES}
   */
  private static int nodes(LogicalPlan plan, int before) {
    int count = before + 1;
    if (count > MOST_NODES) {
      throw new InvalidInputException(
          ErrorCondition.INVALID_ARGUMENT,
          ("The plan of this array has more than %s nodes: an array that a loop's step uses several"
                  + " times is planned anew for each use. Call persist() for the array of each step,"
                  + " or compute() it")
              .formatted(MOST_NODES));
    }
    for (LogicalPlan child : ScalaInterop.<LogicalPlan>list(plan.children())) {
      count = nodes(child, count);
    }
    return count;
  }

  /** As {@link PythonCalls#kept}. */
  static Dataset<Row> kept(Dataset<Row> df) {
    return ErrorBoundary.PLANNING.call(
        () -> {
          SparkSession session = (SparkSession) df.sparkSession();
          LogicalPlan made = ((org.apache.spark.sql.classic.Dataset<Row>) df).logicalPlan();
          var datasets = org.apache.spark.sql.classic.Dataset$.MODULE$;
          // Anew, since the query of df may have looked before it was kept
          LogicalPlan found = datasets.ofRows(session, made).queryExecution().withCachedData();
          return found instanceof InMemoryRelation ? datasets.ofRows(session, found) : df;
        });
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
