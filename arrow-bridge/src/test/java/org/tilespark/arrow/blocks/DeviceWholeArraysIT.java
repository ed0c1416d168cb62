package org.tilespark.arrow.blocks;

import org.tilespark.kernels.device.RequiresGpu;

@RequiresGpu
class DeviceWholeArraysIT extends WholeArraysContract {
  @Override
  Twin openTwin() {
    return DeviceTwin.plentiful();
  }
}
