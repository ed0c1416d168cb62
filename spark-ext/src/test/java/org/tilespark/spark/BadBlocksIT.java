package org.tilespark.spark;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The same expectations with {@code backend=gpu}. */
class BadBlocksIT extends BadBlocksTest {
  @BeforeAll
  static void requireGpu() {
    GpuBackend.require(spark);
  }

  @AfterAll
  static void backToAuto() {
    GpuBackend.release(spark);
  }
}
