package org.tilespark.spark.error;

import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.tilespark.spark.interop.ScalaInterop;

/**
 * The work failed for no fault of the input: memory, a device, a disk, or a defect of ours. Its
 * cause is what was thrown first.
 *
 * <p>It extends Spark's class since PySpark shows no other runtime exception without the JVM's
 * trace around it.
 */
public final class ExecutionFailedException extends SparkRuntimeException implements TileSparkThrowable {
  private static final long serialVersionUID = 1;

  private final ErrorCondition condition;
  private final String reason;

  /**
   * A failure of this kind.
   *
   * @param cause what was thrown first, or null
   */
  public ExecutionFailedException(ErrorCondition condition, String reason, Throwable cause) {
    // Spark makes a message of a condition that it knows; getMessage gives ours.
    super(
        "INTERNAL_ERROR",
        ScalaInterop.map(Map.of("message", reason)),
        cause,
        new QueryContext[0],
        "");
    this.condition = condition;
    this.reason = reason;
  }

  /** A defect of tilespark. */
  public static ExecutionFailedException defect(String reason) {
    return new ExecutionFailedException(ErrorCondition.INTERNAL, reason, null);
  }

  @Override
  public String getMessage() {
    return condition.message(reason);
  }

  @Override
  public ErrorCondition condition() {
    return condition;
  }

  @Override
  public String reason() {
    return reason;
  }

  // The superclass has these too, and a class's methods go before an interface's.

  @Override
  public String getCondition() {
    return TileSparkThrowable.super.getCondition();
  }

  @Override
  public String getSqlState() {
    return TileSparkThrowable.super.getSqlState();
  }

  @Override
  public Map<String, String> getMessageParameters() {
    return TileSparkThrowable.super.getMessageParameters();
  }

  @Override
  public String getDefaultMessageTemplate() {
    return TileSparkThrowable.super.getDefaultMessageTemplate();
  }

  @Override
  public QueryContext[] getQueryContext() {
    return TileSparkThrowable.super.getQueryContext();
  }
}
