package org.tilespark.kernels.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** The first device and its multiplier, for the tests of one class. */
record OpenMultiplier(CudaDevice device, DeviceMultiplier multiplier) implements AutoCloseable {
  /** The least of {@code MultiplyStrategy.Tensor}'s chains. */
  static final int CHAIN_OF_DOUBLES = 256;

  static OpenMultiplier first() {
    CudaDevice device = CudaDevice.open(0);
    DeviceMultiplier multiplier = new DeviceMultiplier(device);
    System.out.println(multiplier + ", cuBLAS: " + multiplier.cublas());
    return new OpenMultiplier(device, multiplier);
  }

  /** Nothing is alive after the tests. */
  @Override
  public void close() {
    multiplier.close();
    multiplier.close();
    long deviceBytes = device.liveDeviceBytes();
    long pinnedBytes = device.livePinnedBytes();
    device.close();
    assertEquals(0, deviceBytes, "device bytes alive");
    assertEquals(0, pinnedBytes, "pinned bytes alive");
  }
}
