package org.tilespark.spark.catalyst;

import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Runs a query during the planning of a user's query, with a description of its purpose in Spark's
 * UI.
 */
public final class EagerQuery {
  private static final String DESCRIPTION = "spark.job.description";

  private EagerQuery() {}

  /**
   * Runs an action of a DataFrame under a description.
   *
   * @param purpose purpose of the query, which follows the user's own description of jobs, if there
   *     is one
   */
  public static <T> T run(Dataset<Row> query, String purpose, Function<Dataset<Row>, T> action) {
    return run(query.sparkSession().sparkContext(), purpose, () -> action.apply(query));
  }

  /**
   * Runs a query of this thread under a description.
   *
   * @param purpose purpose of the query, which follows the user's own description of jobs, if there
   *     is one
   */
  public static <T> T run(SparkContext context, String purpose, Supplier<T> query) {
    String usersOwn = context.getLocalProperty(DESCRIPTION);
    context.setJobDescription(usersOwn == null ? purpose : usersOwn + ": " + purpose);
    try {
      return query.get();
    } finally {
      context.setJobDescription(usersOwn);
    }
  }
}
