package org.tilespark.spark.multiply;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.conf.TileSparkConf;

/** The expectations of {@link IntegerProductsTest} with {@code backend=gpu}. */
@RequiresGpu
class IntegerProductsIT extends IntegerProductsTest {
  @BeforeAll
  static void onTheGpu() {
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
  }

  @AfterAll
  static void asTheSessionBegan() {
    spark.conf().unset(TileSparkConf.BACKEND.name());
  }
}
