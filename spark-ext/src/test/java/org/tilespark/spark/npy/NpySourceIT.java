package org.tilespark.spark.npy;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.spark.GpuBackend;

/** The same expectations with {@code backend=gpu}. */
class NpySourceIT extends NpySourceTest {
  @BeforeAll
  static void requireGpu() {
    GpuBackend.require(spark);
  }

  @AfterAll
  static void backToAuto() {
    GpuBackend.release(spark);
  }
}
