package org.tilespark.arrow.blocks;

/** {@link DeviceWholeArraysIT} with scarce device memory. */
class ScarceDeviceWholeArraysIT extends DeviceWholeArraysIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
