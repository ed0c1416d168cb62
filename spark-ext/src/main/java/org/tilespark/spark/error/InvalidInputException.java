package org.tilespark.spark.error;

/**
 * What the user gave is wrong: an argument, a block or a file. PySpark raises its own
 * IllegalArgumentException for it.
 */
public final class InvalidInputException extends IllegalArgumentException implements TileSparkThrowable {
  private static final long serialVersionUID = 1;

  private final ErrorCondition condition;
  private final String reason;

  /** A failure of this kind, for this reason. */
  public InvalidInputException(ErrorCondition condition, String reason) {
    super(condition.message(reason));
    this.condition = condition;
    this.reason = reason;
  }

  /** The same with {@code more} said, and this one as its cause. */
  public InvalidInputException adding(String more) {
    InvalidInputException longer = new InvalidInputException(condition, reason + more);
    longer.initCause(this);
    return longer;
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
