package org.tilespark.kernels.device;

import java.util.Objects;

/**
 * A range of device memory, made by {@link CudaDevice#allocate}. It begins at a multiple of at
 * least 256 bytes.
 *
 * <p>Closing frees it once the work queued on its own stream is done; if another stream used it,
 * make its own stream wait for that one first.
 */
public final class DeviceBuffer extends Owned {
  private final CudaStream stream;
  private final long address;
  private final long bytes;

  DeviceBuffer(CudaDevice device, CudaStream stream, long address, long bytes) {
    super(device);
    this.stream = stream;
    this.address = address;
    this.bytes = bytes;
    device.register(this);
  }

  /** Length of the buffer in bytes. */
  public long bytes() {
    return bytes;
  }

  /** The device address of a range; checks the device, and that the range is inside the buffer. */
  long address(CudaDevice expected, long offset, long length) {
    requireDevice(expected);
    Objects.checkFromIndexSize(offset, length, bytes);
    return address + offset;
  }

  @Override
  void release() {
    device.memory().free(address, bytes, stream);
  }

  @Override
  int closingOrder() {
    return 2;
  }

  @Override
  public String toString() {
    return "device buffer of " + bytes + " bytes on " + device.where();
  }
}
