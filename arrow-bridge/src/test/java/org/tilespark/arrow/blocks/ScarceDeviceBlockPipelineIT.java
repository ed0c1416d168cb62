package org.tilespark.arrow.blocks;

/** {@link DeviceBlockPipelineIT} with scarce device memory. */
class ScarceDeviceBlockPipelineIT extends DeviceBlockPipelineIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
