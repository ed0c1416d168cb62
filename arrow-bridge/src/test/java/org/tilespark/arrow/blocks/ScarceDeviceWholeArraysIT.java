package org.tilespark.arrow.blocks;

/** The same where device memory is scarce. */
class ScarceDeviceWholeArraysIT extends DeviceWholeArraysIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
