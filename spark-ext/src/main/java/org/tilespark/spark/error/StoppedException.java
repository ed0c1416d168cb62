package org.tilespark.spark.error;

/**
 * Reports that a task asked for memory or a device of its application, which has stopped meanwhile.
 */
public final class StoppedException extends IllegalStateException implements TileSparkThrowable {
  private final String reason;

  /** Reports a stopped application; {@code reason} says what was requested and what helps. */
  public StoppedException(String reason) {
    super(ErrorCondition.STOPPED.message(reason));
    this.reason = reason;
  }

  @Override
  public ErrorCondition condition() {
    return ErrorCondition.STOPPED;
  }

  @Override
  public String reason() {
    return reason;
  }
}
