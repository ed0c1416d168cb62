package org.tilespark.kernels;

/**
 * A resource of this machine is missing or used up: memory, a device, a driver. The request itself
 * was right, and may succeed later or elsewhere.
 */
public class ResourceException extends RuntimeException {
  /** A failure with a message that says what was asked, what was found and what helps. */
  public ResourceException(String message) {
    super(message);
  }

  /** An exception with this message and cause. */
  public ResourceException(String message, Throwable cause) {
    super(message, cause);
  }
}
