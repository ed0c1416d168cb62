package org.tilespark.arrow.blocks;

import org.tilespark.kernels.device.RequiresGpu;

@RequiresGpu
class DevicePipelineMistakesIT extends PipelineMistakesContract {
  @Override
  Twin openTwin() {
    return DeviceTwin.plentiful();
  }
}
