package org.tilespark.spark.error;

/**
 * Wrong input from the caller of one of our Java methods. Inside our code, an {@link
 * IllegalArgumentException} with an error condition.
 */
public final class InvalidInputException extends IllegalArgumentException
    implements TileSparkThrowable {
  private final ErrorCondition condition;
  private final String reason;

  /**
   * Wrong input of the kind {@code condition}; {@code reason} says what was found and what was
   * expected.
   */
  public InvalidInputException(ErrorCondition condition, String reason) {
    this(condition, reason, null);
  }

  InvalidInputException(ErrorCondition condition, String reason, Throwable cause) {
    super(condition.message(reason), cause);
    this.condition = condition;
    this.reason = reason;
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
