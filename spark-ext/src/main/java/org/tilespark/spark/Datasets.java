package org.tilespark.spark;

import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.tilespark.spark.interop.ScalaInterop;
import org.tilespark.spark.planner.PlanBlocks;

/** From DataFrames to plans and back. */
final class Datasets {
  private Datasets() {}

  /**
   * A DataFrame over the plan that {@code f} makes of this one's.
   *
   * @throws IllegalStateException if the session cannot plan our nodes
   * @throws IllegalArgumentException if {@code df} belongs to a Spark Connect session
   */
  static Dataset<Row> map(Dataset<Row> df, UnaryOperator<LogicalPlan> f) {
    if (!(df instanceof org.apache.spark.sql.classic.Dataset<Row> classic)) {
      throw new IllegalArgumentException(
          "Expected a DataFrame of a classic session, found "
              + df.getClass().getName()
              + "; over Spark Connect use the SQL functions, as SELECT * FROM"
              + " matrix_transpose(TABLE(m))");
    }
    SparkSession session = classic.sparkSession();
    requireExtension(session);
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        session, f.apply(classic.logicalPlan()));
  }

  private static void requireExtension(SparkSession session) {
    boolean present =
        ScalaInterop.list(session.sessionState().planner().strategies()).stream()
            .anyMatch(PlanBlocks.class::isInstance);
    if (!present) {
      throw new IllegalStateException(
          "This Spark session does not have tilespark's extension. Start it with"
              + " spark.sql.extensions="
              + TileSparkExtensions.class.getName()
              + " and the tilespark jar on the driver's class path (--jars or --packages); if both"
              + " are set, the driver's log says why the class could not be loaded");
    }
  }
}
