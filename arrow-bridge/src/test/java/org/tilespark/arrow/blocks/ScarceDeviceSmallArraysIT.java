package org.tilespark.arrow.blocks;

/** {@link DeviceSmallArraysIT} with scarce device memory. */
class ScarceDeviceSmallArraysIT extends DeviceSmallArraysIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
