package org.tilespark.spark;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The same expectations with {@code backend=gpu}. */
class TableFunctionsIT extends TableFunctionsTest {
  @BeforeAll
  static void requireGpu() {
    GpuBackend.require(spark);
  }

  @AfterAll
  static void backToAuto() {
    GpuBackend.release(spark);
  }
}
