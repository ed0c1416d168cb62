package org.tilespark.spark.error;

/**
 * What the user asked for cannot be done here. PySpark raises its own UnsupportedOperationException
 * for it.
 */
public final class UnsupportedRequestException extends UnsupportedOperationException
    implements TileSparkThrowable {
  private static final long serialVersionUID = 1;

  private final String reason;

  /** The request of which {@code reason} says why it cannot be met, and what can. */
  public UnsupportedRequestException(String reason) {
    super(ErrorCondition.UNSUPPORTED.message(reason));
    this.reason = reason;
  }

  @Override
  public ErrorCondition condition() {
    return ErrorCondition.UNSUPPORTED;
  }

  @Override
  public String reason() {
    return reason;
  }
}
