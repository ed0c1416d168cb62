package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.tilespark.kernels.device.RequiresGpu;
import org.tilespark.spark.conf.TileSparkConf;

/** The expectations of {@link MultiplyPlanTest} with {@code backend=gpu}. */
@RequiresGpu
class MultiplyPlanIT extends MultiplyPlanTest {
  @BeforeAll
  static void onTheGpu() {
    spark.conf().set(TileSparkConf.BACKEND.name(), "gpu");
  }

  @AfterAll
  static void asTheSessionBegan() {
    spark.conf().unset(TileSparkConf.BACKEND.name());
  }

  /**
   * One pinned block more, at most: a task needs none for a panel that another task has brought to
   * the device already.
   */
  @Override
  void assertSameMemory(long bytes, long bytesOfLongerK, String strategy) {
    assertTrue(
        bytesOfLongerK <= bytes + (16 << 10),
        () -> strategy + ": " + bytes + " bytes, " + bytesOfLongerK + " for a longer K");
  }
}
