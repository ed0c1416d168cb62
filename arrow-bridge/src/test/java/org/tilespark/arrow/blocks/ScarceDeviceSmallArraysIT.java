package org.tilespark.arrow.blocks;

/** The same where device memory is scarce. */
class ScarceDeviceSmallArraysIT extends DeviceSmallArraysIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
