package org.tilespark.kernels.device;

import jcuda.driver.CUdeviceptr;

/** A device address in JCuda's terms, readable as a number. */
final class DevicePointer extends CUdeviceptr {
  /** The null pointer, for an allocation to fill in. */
  DevicePointer() {}

  DevicePointer(long address) {
    super(new CUdeviceptr(), address);
  }

  long address() {
    return getNativePointer() + getByteOffset();
  }
}
