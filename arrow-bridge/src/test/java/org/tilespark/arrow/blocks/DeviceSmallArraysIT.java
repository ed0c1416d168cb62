package org.tilespark.arrow.blocks;

import org.tilespark.kernels.device.RequiresGpu;

@RequiresGpu
class DeviceSmallArraysIT extends SmallArraysContract {
  @Override
  Twin openTwin() {
    return DeviceTwin.plentiful();
  }
}
