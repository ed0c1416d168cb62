package org.tilespark.spark.error;

/** Reports that the session cannot plan our operators. */
public final class NoExtensionException extends IllegalStateException
    implements TileSparkThrowable {
  private final String reason;

  /** Reports a missing extension; {@code reason} says how to add it. */
  public NoExtensionException(String reason) {
    super(ErrorCondition.NO_EXTENSION.message(reason));
    this.reason = reason;
  }

  @Override
  public ErrorCondition condition() {
    return ErrorCondition.NO_EXTENSION;
  }

  @Override
  public String reason() {
    return reason;
  }
}
