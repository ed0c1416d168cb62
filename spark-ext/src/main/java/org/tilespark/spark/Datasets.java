package org.tilespark.spark;

import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.error.ErrorBoundary;
import org.tilespark.spark.error.NoExtensionException;

/** From DataFrames to plans and back. */
public final class Datasets {
  private Datasets() {}

  /**
   * A DataFrame over the plan that {@code f} makes of this one's.
   *
   * @throws IllegalStateException if the session cannot plan our nodes
   * @throws IllegalArgumentException if {@code df} belongs to a Spark Connect session, or {@code f}
   *     refuses its plan
   */
  public static Dataset<Row> map(Dataset<Row> df, UnaryOperator<LogicalPlan> f) {
    return ErrorBoundary.CALLS.call(() -> of(df, f.apply(classic(df).logicalPlan())));
  }

  /**
   * A DataFrame over the plan that {@code f} makes of two.
   *
   * @throws IllegalStateException if the session cannot plan our nodes
   * @throws IllegalArgumentException if the two belong to different sessions, or to a Spark Connect
   *     session, or {@code f} refuses their plans
   */
  static Dataset<Row> combine(Dataset<Row> a, Dataset<Row> b, BinaryOperator<LogicalPlan> f) {
    return ErrorBoundary.CALLS.call(
        () -> {
          if (classic(a).sparkSession() != classic(b).sparkSession()) {
            throw new IllegalArgumentException(
                "The two DataFrames belong to different Spark sessions; expected one");
          }
          return of(a, f.apply(classic(a).logicalPlan(), classic(b).logicalPlan()));
        });
  }

  /** A DataFrame over a plan, in the session of {@code like}. */
  static Dataset<Row> of(Dataset<Row> like, LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(classic(like).sparkSession(), plan);
  }

  /** Looks keys up in the configuration of a DataFrame's session. */
  static UnaryOperator<String> conf(Dataset<Row> df) {
    return name -> classic(df).sparkSession().sessionState().conf().getConfString(name, null);
  }

  /** Tasks that can run at once, as Spark tells it. */
  static int parallelism(Dataset<Row> df) {
    return classic(df).sparkSession().sparkContext().defaultParallelism();
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
