package org.tilespark.spark.npy;

/** A block that cannot be written; its message names the block. Ends a job as wrong input does. */
final class BlockDefectException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  BlockDefectException(String message) {
    super(message);
  }
}
