package org.tilespark.spark.error;

/** The session cannot plan our operators. */
public final class NoExtensionException extends IllegalStateException
    implements TileSparkThrowable {
  private final String reason;

  /** The lack of which {@code reason} says how it is met. */
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
