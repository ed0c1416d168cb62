package org.tilespark.spark.reduce;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.conf.TileSparkConf;

/** The expectations of {@link ColumnStatisticsTest} with {@code backend=gpu}. */
@RequiresGpu
class ColumnStatisticsIT extends ColumnStatisticsTest {
  @BeforeAll
  static void onTheGpu() {
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
  }

  @AfterAll
  static void asTheSessionBegan() {
    spark.conf().unset(TileSparkConf.BACKEND.name());
  }
}
