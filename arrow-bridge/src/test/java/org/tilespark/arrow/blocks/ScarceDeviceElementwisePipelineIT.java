package org.tilespark.arrow.blocks;

/** {@link DeviceElementwisePipelineIT} with scarce device memory. */
class ScarceDeviceElementwisePipelineIT extends DeviceElementwisePipelineIT {
  @Override
  Twin openTwin() {
    return DeviceTwin.scarce();
  }
}
