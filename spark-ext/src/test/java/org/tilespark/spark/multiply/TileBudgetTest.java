package org.tilespark.spark.multiply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TileBudgetTest {
  private static final long MIB = 1L << 20;
  private static final long GIB = 1L << 30;

  /** The limit of a governor of a device of {@code gib} GiB with the defaults. */
  private static long limit(double gib) {
    return (long) (0.8 * (gib * GIB - 640 * MIB));
  }

  @Test
  void largeDevicesHoldWhatIsConfigured() {
    assertEquals(GIB, TileBudget.bytes(GIB, 64 * MIB, limit(141), 16));
    assertEquals(4 * GIB, TileBudget.bytes(4 * GIB, 64 * MIB, limit(141), 16));
    assertEquals(GIB, TileBudget.bytes(GIB, 64 * MIB, 0, 16), "not known");
  }

  @Test
  void allTasksFitSmallerDevices() {
    for (double gib : new double[] {8, 12, 16, 24, 40}) {
      long tile = TileBudget.bytes(GIB, 64 * MIB, limit(gib), 16);
      assertTrue(16 * (tile + 160 * MIB) <= limit(gib), gib + " GiB: " + tile);
      assertTrue(tile > 64 * MIB, gib + " GiB: " + tile);
    }
  }

  /** Less than a batch would be all transfers; then some tasks wait, but each fits alone. */
  @Test
  void onTheSmallestSomeTasksWait() {
    for (double gib : new double[] {1.2, 1.5, 2, 4, 6}) {
      for (int tasks : new int[] {1, 4, 16, 64}) {
        long tile = TileBudget.bytes(GIB, 64 * MIB, limit(gib), tasks);
        assertTrue(tile >= 1);
        assertTrue(2 * tile + 160 * MIB <= limit(gib), gib + " GiB, " + tasks + ": " + tile);
      }
    }
    assertEquals(64 * MIB, TileBudget.bytes(GIB, 64 * MIB, limit(4), 16));
  }
}
