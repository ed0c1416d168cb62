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

  /** Bytes that the allocation asked for. */
  public long requestedBytes() {
    return requestedBytes;
  }

  /**
   * Free bytes of the device as the driver reported them; -1 if it reports none (for pinned
   * memory).
   */
  public long freeBytes() {
    return freeBytes;
  }
}
