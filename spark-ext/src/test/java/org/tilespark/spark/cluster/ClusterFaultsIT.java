package org.tilespark.spark.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.conf.TileSparkConf;

/**
 * {@link ClusterFaultsTest} with a device, which all executors share: they die while they hold
 * memory of it, and the host memory that is refused is pinned.
 */
@RequiresGpu
class ClusterFaultsIT extends ClusterFaultsTest {
  @Override
  Map<String, String> backend() {
    return Map.of(
        TileSparkConf.BACKEND.name(), "gpu",
        TileSparkConf.DEVICE_FRACTION.name(), "0.2",
        TileSparkConf.PINNED_POOL_SIZE.name(), "64m");
  }

  @Test
  void aTaskWithoutDeviceMemoryIsTriedAgain() throws IOException {
    ChildJvm.Outcome outcome =
        run(DeviceMemoryJob.class, Map.of("spark.executor.cores", "1", "spark.cores.max", "1"));
    assertPassed(List.of("a task without device memory is tried again", "nothing alive"), outcome);
  }

  @Test
  void aDeviceThatCannotBeOpenedFailsTheJobAndNotTheExecutors() throws IOException {
    ChildJvm.Outcome outcome =
        run(
            DeviceMemoryJob.class,
            Map.of(
                "spark.executor.cores",
                "1",
                "spark.cores.max",
                "1",
                TileSparkConf.DEVICE_RESERVE.name(),
                "1000t"));
    assertEquals(1, outcome.exitCode(), outcome::output);
    assertTrue(outcome.output().contains("nothing is left for tasks"), outcome::output);
    assertFalse(outcome.output().contains("Lost executor"), outcome::output);
  }
}
