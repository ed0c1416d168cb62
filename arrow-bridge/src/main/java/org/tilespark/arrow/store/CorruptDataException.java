package org.tilespark.arrow.store;

import java.io.IOException;

/** Thrown if bytes read from a file or the network are not those that were written. */
public final class CorruptDataException extends IOException {
  private static final long serialVersionUID = 1;

  /** An exception with this message: what was read, what was found and what was expected. */
  public CorruptDataException(String message) {
    super(message);
  }
}
