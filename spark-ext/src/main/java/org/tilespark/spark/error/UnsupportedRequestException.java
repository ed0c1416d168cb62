package org.tilespark.spark.error;

/** A request to a Java method of ours that cannot be met here. */
public final class UnsupportedRequestException extends UnsupportedOperationException
    implements TileSparkThrowable {
  private final String reason;

  /** The request of which {@code reason} says why it cannot be met, and what can. */
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
