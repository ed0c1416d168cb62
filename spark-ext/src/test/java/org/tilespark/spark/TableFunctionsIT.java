package org.tilespark.spark;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.device.DeviceProbe;

/** The same expectations with {@code backend=gpu}. */
class TableFunctionsIT extends TableFunctionsTest {
  @BeforeAll
  static void requireGpu() {
    DeviceProbe probe = DeviceProbe.run();
    Assumptions.assumeTrue(probe.available(), probe.reason());
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
  }

  @AfterAll
  static void backToAuto() {
    spark.conf().set(TileSparkConf.BACKEND.name(), "auto");
  }
}
