package org.tilespark.kernels.device.driver;

import jcuda.driver.CUdeviceptr;

/** A device address in JCuda's terms, readable as a number. */
public final class DevicePointer extends CUdeviceptr {
  /** A null pointer, which an allocation fills in. */
  public DevicePointer() {}

  public DevicePointer(long address) {
    super(new CUdeviceptr(), address);
  }

  public long address() {
    return getNativePointer() + getByteOffset();
  }
}
