package org.tilespark.kernels.device;

import org.tilespark.kernels.ResourceException;

/** An allocation of device or pinned memory did not fit. Nothing was allocated. */
public final class DeviceOutOfMemoryException extends ResourceException {
  private final long requestedBytes;
  private final long freeBytes;

  DeviceOutOfMemoryException(String message, long requestedBytes, long freeBytes) {
    super(message);
    this.requestedBytes = requestedBytes;
    this.freeBytes = freeBytes;
  }

  /** Bytes asked for. */
  public long requestedBytes() {
    return requestedBytes;
  }

  /** Bytes the driver reported free on the device; -1 where it reports none (pinned memory). */
  public long freeBytes() {
    return freeBytes;
  }
}
