package org.tilespark.spark.functions;

import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * Who asks for a plan.
 *
 * @param name the function or method, for messages
 * @param session its session; asked when a plan needs it
 * @param conf looks keys up in the configuration that the plan is made under
 */
public record Caller(
    String name, Supplier<SparkSession> session, Supplier<UnaryOperator<String>> conf) {
  /** A method that is called with DataFrames of {@code session}. */
  public Caller(String method, SparkSession session) {
    this(
        method, () -> session, () -> key -> session.sessionState().conf().getConfString(key, null));
  }

  /** A function in a query, which the active session analyzes. */
  static Caller inSql(String function) {
    return new Caller(
        function,
        () -> (SparkSession) org.apache.spark.sql.SparkSession.active(),
        TileSparkConf::session);
  }

  /** A DataFrame over a plan. */
  Dataset<Row> asDataset(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset$.MODULE$.ofRows(
        session.get(), CommonTables.inPlace(plan));
  }

  /** Tasks that can run at once, as Spark tells it. */
  int tasks() {
    return session.get().sparkContext().defaultParallelism();
  }
}
