package org.tilespark.spark;

import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Assumptions;
import org.tilespark.kernels.device.DeviceProbe;

/** Lets a class of tests run with {@code backend=gpu}, or skips it with the reason. */
public final class GpuBackend {
  private GpuBackend() {}

  /** Skips the class where there is no GPU; else all queries planned from here on take it. */
  public static void require(SparkSession spark) {
    DeviceProbe probe = DeviceProbe.run();
    Assumptions.assumeTrue(probe.available(), probe.reason());
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
  }

  /** Back to what the session began with. */
  public static void release(SparkSession spark) {
    spark.conf().unset(TileSparkConf.BACKEND.name());
  }
}
