package org.tilespark.spark.error;

/** Reports a request to one of our Java methods that cannot be fulfilled here. */
public final class UnsupportedRequestException extends UnsupportedOperationException
    implements TileSparkThrowable {
  private final String reason;

  /** Reports the request; {@code reason} says why it cannot be fulfilled, and what is possible. */
  public UnsupportedRequestException(String reason) {
    this(reason, null);
  }

  UnsupportedRequestException(String reason, Throwable cause) {
    super(ErrorCondition.UNSUPPORTED.message(reason), cause);
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
