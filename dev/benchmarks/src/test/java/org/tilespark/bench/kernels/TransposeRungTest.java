package org.tilespark.bench.kernels;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class TransposeRungTest {
  @Test
  void slicesArePackedWithAtMostOneUnused() {
    assertArrayEquals(new long[] {1, 1}, TransposeRung.packing(1));
    assertArrayEquals(new long[] {1, 3}, TransposeRung.packing(3));
    assertArrayEquals(new long[] {22, 22}, TransposeRung.packing(484));
    assertArrayEquals(new long[] {19, 27}, TransposeRung.packing(513));
    for (long slices = 1; slices < 3000; slices++) {
      long[] packing = TransposeRung.packing(slices);
      long unused = packing[0] * packing[1] - slices;
      assertTrue(unused == 0 || unused == 1, slices + " slices leave " + unused + " unused");
    }
  }
}
