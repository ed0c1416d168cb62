package org.tilespark.arrow.blocks;

/** The same where device memory is scarce. */
class ScarceDeviceElementwisePipelineIT extends DeviceElementwisePipelineIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
