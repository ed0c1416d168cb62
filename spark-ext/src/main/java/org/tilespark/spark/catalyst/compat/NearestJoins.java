package org.tilespark.spark.catalyst.compat;

import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Spark's {@code NEAREST k BY} and its vector functions for ranking, which Spark 4.2 introduced.
 */
public final class NearestJoins {
  private static final String JOIN = "org.apache.spark.sql.catalyst.plans.logical.NearestByJoin";
  private static final String LARGEST = "NearestBySimilarity$";
  private static final String ERRORS = "org.apache.spark.sql.errors.QueryExecutionErrors";

  /** SQL names of the functions that compute a score of two vectors, by class. */
  private static final Map<String, String> FUNCTIONS =
      Map.of(
          "VectorInnerProduct", "vector_inner_product",
          "VectorCosineSimilarity", "vector_cosine_similarity",
          "VectorL2Distance", "vector_l2_distance");

  private static final boolean PRESENT = isPresent();

  /**
   * The request of the join: for each row of {@code left}, the {@code k} rows of {@code right} for
   * which {@code ranking} is best.
   *
   * @param largest true if the largest value is best; false if the least
   */
  public record Join(
      LogicalPlan left,
      LogicalPlan right,
      JoinType type,
      int k,
      Expression ranking,
      boolean largest) {}

  /** A call of a function of two vectors; {@code function} is its name in SQL. */
  public record Score(String function, Expression first, Expression second) {}

  private NearestJoins() {}

  /** True if the running Spark has {@code NEAREST k BY}. */
  public static boolean exist() {
    return PRESENT;
  }

  private static boolean isPresent() {
    try {
      Class.forName(JOIN, false, LogicalPlan.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** The request of {@code node}, if it is a nearest join; otherwise empty. */
  public static Optional<Join> of(LogicalPlan node) {
    if (!node.getClass().getName().equals(JOIN)) {
      return Optional.empty();
    }
    return Optional.of(
        new Join(
            (LogicalPlan) field(node, "left"),
            (LogicalPlan) field(node, "right"),
            (JoinType) field(node, "joinType"),
            (Integer) field(node, "numResults"),
            (Expression) field(node, "rankingExpression"),
            field(node, "direction").getClass().getSimpleName().equals(LARGEST)));
  }

  /** The vector function that {@code expression} calls; empty for other expressions. */
  public static Optional<Score> score(Expression expression) {
    return Optional.ofNullable(FUNCTIONS.get(expression.getClass().getSimpleName()))
        .map(
            name ->
                new Score(
                    name,
                    (Expression) field(expression, "left"),
                    (Expression) field(expression, "right")));
  }

  /** The failure with which Spark's function refuses vectors of different lengths. */
  public static RuntimeException differentLengths(String function, int first, int second) {
    try {
      return (RuntimeException)
          Class.forName(ERRORS, true, LogicalPlan.class.getClassLoader())
              .getMethod("vectorDimensionMismatchError", String.class, int.class, int.class)
              .invoke(null, function, first, second);
    } catch (ReflectiveOperationException e) {
      return new IllegalArgumentException(
          "%s of vectors of %s and %s elements; expected as many in both"
              .formatted(function, first, second),
          e);
    }
  }

  private static Object field(Object of, String name) {
    try {
      return of.getClass().getMethod(name).invoke(of);
    } catch (InvocationTargetException | NoSuchMethodException | IllegalAccessException e) {
      throw new IllegalStateException(
          "Spark %s has no %s of %s; set spark.tilespark.nearest to off"
              .formatted(SparkVersion.running(), name, of.getClass().getSimpleName()),
          e);
    }
  }
}
