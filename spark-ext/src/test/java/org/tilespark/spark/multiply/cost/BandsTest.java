package org.tilespark.spark.multiply.cost;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.tilespark.layout.AxisCuts;

/** An axis in another order: bands of a partition together. */
class BandsTest {
  @Test
  void asDrawn() {
    Bands bands = new Bands(4, 10, new int[] {1, 0, 1});
    assertArrayEquals(new long[] {0, 4, 10}, bands.boundaries());
    assertEquals(2, bands.ranges());
    assertEquals(6, bands.largest());
    long[] ranks = {4, 5, 6, 7, 0, 1, 2, 3, 8, 9};
    for (int element = 0; element < ranks.length; element++) {
      assertEquals(ranks[element], bands.rank(element));
      assertEquals(element, bands.element(ranks[element]));
    }
    assertEquals(8, bands.bandEnd(5));
    assertEquals(10, bands.bandEnd(8));
    assertEquals(AxisCuts.every(4, 10), bands.cuts(100));
    assertEquals(5, bands.cuts(3).parts()); // 0 3, 4 7, 8
    assertThrows(IllegalArgumentException.class, () -> new Bands(4, 10, new int[2]));
  }

  @Test
  void everyElementHasOneRankInItsPartitionsRange() {
    Random random = new Random(1);
    for (int round = 0; round < 200; round++) {
      long length = 1L + random.nextInt(7);
      long extent = 1L + random.nextInt(60);
      int[] partition = new int[(int) ((extent + length - 1) / length)];
      for (int band = 0; band < partition.length; band++) {
        partition[band] = random.nextInt(5);
      }
      Bands bands = new Bands(length, extent, partition);
      BitSet seen = new BitSet();
      for (long element = 0; element < extent; element++) {
        long rank = bands.rank(element);
        assertTrue(rank >= 0 && rank < extent && !seen.get((int) rank));
        seen.set((int) rank);
        assertEquals(element, bands.element(rank));
        assertEquals(
            partition[(int) (element / length)], bands.partition(bands.range(rank)), "partition");
      }
    }
  }
}
