package org.tilespark.spark.error;

/** The session cannot plan our operators. */
public final class NoExtensionException extends IllegalStateException
    implements TileSparkThrowable {
  private final String reason;

  /** The extension is missing; {@code reason} says how to add it. */
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
