package org.tilespark.spark.stage;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.conf.TileSparkConf;

/** The expectations of {@link BlockStageTest} with {@code backend=gpu}. */
@RequiresGpu
class BlockStageIT extends BlockStageTest {
  @BeforeAll
  static void onTheGpu() {
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
  }

  @AfterAll
  static void asTheSessionBegan() {
    spark.conf().unset(TileSparkConf.BACKEND.name());
  }
}
