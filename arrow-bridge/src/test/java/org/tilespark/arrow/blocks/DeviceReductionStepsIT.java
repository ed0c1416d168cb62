package org.tilespark.arrow.blocks;

import org.tilespark.kernels.device.RequiresGpu;

@RequiresGpu
class DeviceReductionStepsIT extends ReductionStepsContract {
  @Override
  Twin openTwin() {
    return DeviceTwin.plentiful();
  }
}
