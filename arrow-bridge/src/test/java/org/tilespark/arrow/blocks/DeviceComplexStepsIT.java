package org.tilespark.arrow.blocks;

import org.tilespark.kernels.device.RequiresGpu;

@RequiresGpu
class DeviceComplexStepsIT extends ComplexStepsContract {
  @Override
  Twin openTwin() {
    return DeviceTwin.plentiful();
  }
}
