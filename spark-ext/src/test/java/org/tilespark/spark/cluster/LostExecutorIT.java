package org.tilespark.spark.cluster;

import java.util.Map;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.cluster.LostExecutorJob.Loss;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * {@link LostExecutorTest} with a device, which a kernel that traps takes away. Both executors
 * share it.
 */
@RequiresGpu
class LostExecutorIT extends LostExecutorTest {
  @Override
  Loss loss() {
    return Loss.TRAP;
  }

  @Override
  Map<String, String> conf() {
    return Map.of(
        TileSparkConf.BACKEND.name(), "gpu",
        TileSparkConf.DEVICE_FRACTION.name(), "0.2",
        TileSparkConf.PINNED_POOL_SIZE.name(), "64m");
  }
}
