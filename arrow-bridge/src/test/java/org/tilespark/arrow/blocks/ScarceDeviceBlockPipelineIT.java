package org.tilespark.arrow.blocks;

/** The same where device memory is scarce. */
class ScarceDeviceBlockPipelineIT extends DeviceBlockPipelineIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
