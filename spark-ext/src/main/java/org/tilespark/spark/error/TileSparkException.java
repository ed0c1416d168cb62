package org.tilespark.spark.error;

import org.apache.spark.sql.execution.QueryExecutionException;

/**
 * The exception for a failure of our code that Spark called: a SQL function, the planner, a data
 * source or a task. It is thrown undeclared, as all of Spark's checked exceptions.
 *
 * <p>It extends Spark's class because PySpark shows that without the JVM's trace, and because Spark
 * Connect's JVM client up to 4.1 looks up the conditions of most other classes in Spark's own list
 * and fails if they are missing.
 */
public final class TileSparkException extends QueryExecutionException
    implements TileSparkThrowable {
  private final ErrorCondition condition;
  private final String reason;

  /**
   * A failure of the kind {@code condition}, for the reason {@code reason}.
   *
   * @param cause the first exception of the failure, or null
   */
  public TileSparkException(ErrorCondition condition, String reason, Throwable cause) {
    super(condition.message(reason), cause);
    this.condition = condition;
    this.reason = reason;
  }

  /**
   * Sets a trace; shortens it if the user's request is wrong, since Spark sets traces to which it
   * has appended its own frames.
   */
  @Override
  public void setStackTrace(StackTraceElement[] trace) {
    boolean isRequests = condition.isWrongInput() || condition == ErrorCondition.UNSUPPORTED;
    super.setStackTrace(isRequests ? ShortTrace.of(trace) : trace);
  }

  @Override
  public ErrorCondition condition() {
    return condition;
  }

  @Override
  public String reason() {
    return reason;
  }
}
