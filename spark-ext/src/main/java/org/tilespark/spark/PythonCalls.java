package org.tilespark.spark;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.tilespark.spark.functions.TableFunctions;

/**
 * Operators by the names of their SQL functions, for the Python package. A call makes the same plan
 * as the function in a query, without the temporary views, the parsing and the analysis that a
 * query over DataFrames needs.
 */
public final class PythonCalls {
  private PythonCalls() {}

  /**
   * The result of an operator on DataFrames of a classic session.
   *
   * @param function name of the SQL function
   * @param tables DataFrames of one session, for the function's first parameters
   * @param constants other arguments by the names of their parameters
   */
  public static Dataset<Row> call(
      String function, List<Dataset<Row>> tables, Map<String, Object> constants) {
    return ClassicCalls.call(TableFunctions.named(function), tables, constants);
  }

  /**
   * A DataFrame whose blocks Spark's cache keeps, as one whose plan is what is kept, so that the
   * plans of its uses do not contain the plan that made it. Without this, a loop whose steps use an
   * array several times has plans that grow exponentially, though each step is kept.
   *
   * @param df a DataFrame of a classic session
   * @return {@code df} itself if the cache does not keep it
   */
  public static Dataset<Row> kept(Dataset<Row> df) {
    return ClassicCalls.kept(df);
  }
}
